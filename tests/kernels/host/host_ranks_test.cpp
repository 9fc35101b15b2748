#include "kernels/cpu/host_ranks.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace vramfit {
namespace {

/// Runs what the second rank does beside the first.
template <typename First, typename Second>
void beside(const First& first, const Second& second) {
  std::jthread other(second);
  first();
}

void read_into(int& value, const void* offer) { value = *static_cast<const int*>(offer); }

TEST(HostRanks, ExchangeInTheOrderOfSending) {
  HostRanks ranks(2);
  const int sent[] = {1, 2};
  const int back = 3;
  int received[] = {0, 0};
  int answer = 0;
  beside(
      [&] {
        ranks.exchange(0, {{1, &sent[0]}, {1, &sent[1]}},
                       {{1, [&](const void* offer) { read_into(answer, offer); }}});
      },
      [&] {
        ranks.exchange(1, {{0, &back}},
                       {{0, [&](const void* offer) { read_into(received[0], offer); }},
                        {0, [&](const void* offer) { read_into(received[1], offer); }}});
      });
  EXPECT_EQ(received[0], 1);
  EXPECT_EQ(received[1], 2);
  EXPECT_EQ(answer, 3);
}

TEST(HostRanks, WhoWaitsForOneThatLeavesIsTold) {
  HostRanks ranks(2);
  const int sent = 1;
  int received = 0;
  const auto read = [&](const void* offer) { read_into(received, offer); };
  beside(
      [&] {
        EXPECT_THROW(ranks.exchange(0, {}, {{1, read}}), std::runtime_error);
      },
      [&] { ranks.leave(); });
  // What nobody reads any more is nobody's fault but the leaver's.
  EXPECT_THROW(ranks.exchange(0, {{1, &sent}}, {}), std::runtime_error);
  EXPECT_THROW(ranks.meet(0, &sent, [](const auto&) {}), std::runtime_error);
  EXPECT_EQ(received, 0);
}

/// What was sent before the leaver left has been read: it is whole.
TEST(HostRanks, WhatALeaverSentIsStillRead) {
  HostRanks ranks(2);
  const int sent = 7;
  int received = 0;
  beside(
      [&] {
        ranks.exchange(0, {}, {{1, [&](const void* o) { read_into(received, o); }}});
      },
      [&] {
        ranks.exchange(1, {{0, &sent}}, {});
        ranks.leave();
      });
  EXPECT_EQ(received, 7);
}

}  // namespace
}  // namespace vramfit
