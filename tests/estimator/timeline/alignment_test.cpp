#include "estimator/timeline/alignment.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

namespace vramfit {
namespace {

using Tokens = std::vector<std::int64_t>;

/// Steps of layers, much like one another, as runs have them.
Tokens steps(int count) {
  Tokens tokens;
  for (int step = 0; step < count; ++step) {
    for (int layer = 0; layer < 8; ++layer) {
      for (const std::int64_t size :
           {512, 4096, 4096, 8192, -4096, 512, -8192, -4096, -512, -512}) {
        tokens.push_back(size);
      }
    }
    tokens.push_back(1 << 20);
    tokens.push_back(-(1 << 20));
  }
  return tokens;
}

std::size_t unmatched(const Tokens& a, const Tokens& b) {
  const auto pairs = aligned(a, b);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(a[pairs[i].first], b[pairs[i].second]);
    if (i == 0) continue;
    EXPECT_GT(pairs[i].first, pairs[i - 1].first);
    EXPECT_GT(pairs[i].second, pairs[i - 1].second);
  }
  return a.size() + b.size() - 2 * pairs.size();
}

TEST(Alignment, OfEqualsIsWhole) {
  EXPECT_EQ(unmatched(steps(3), steps(3)), 0U);
  EXPECT_EQ(unmatched({}, {}), 0U);
  EXPECT_EQ(unmatched(steps(1), {}), steps(1).size());
}

TEST(Alignment, WhatOneHasMoreShiftsNothing) {
  const Tokens a = steps(3);
  for (const std::size_t at : {0UL, 1UL, 37UL, 100UL, a.size() - 2, a.size()}) {
    SCOPED_TRACE(at);
    Tokens b = a;
    b.insert(b.begin() + static_cast<std::ptrdiff_t>(at), 777);
    EXPECT_EQ(unmatched(a, b), 1U);
    EXPECT_EQ(unmatched(b, a), 1U);
  }
}

TEST(Alignment, AnotherSizeIsOneOnEachSide) {
  const Tokens a = steps(3);
  for (std::size_t at = 0; at < a.size(); at += 13) {
    SCOPED_TRACE(at);
    Tokens b = a;
    b[at] = 777;
    EXPECT_EQ(unmatched(a, b), 2U);
  }
}

TEST(Alignment, SeveralInEveryLayerAreFound) {
  const Tokens a = steps(2);
  Tokens b;
  for (const std::int64_t token : a) {
    b.push_back(token);
    if (token == 8192) b.insert(b.end(), {999, -999});
  }
  EXPECT_EQ(unmatched(a, b), 2 * 2 * 8U);
}

TEST(Alignment, EndsWithTheShorterOne) {
  const Tokens a = steps(3);
  EXPECT_EQ(unmatched(a, steps(1)), steps(2).size());
}

TEST(Alignment, OfWhatHasNothingInCommonTakesNoLonger) {
  std::mt19937 random(1);
  Tokens a(200000);
  Tokens b(200000);
  for (std::int64_t& token : a) token = static_cast<std::int64_t>(random() % 5);
  for (std::int64_t& token : b) token = static_cast<std::int64_t>(random() % 5);
  const auto begin = std::chrono::steady_clock::now();
  unmatched(a, b);
  unmatched(Tokens(200000, 1), Tokens(200000, 2));
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(std::chrono::duration<double>(took).count(), 60);
}

}  // namespace
}  // namespace vramfit
