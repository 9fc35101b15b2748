#include "estimator/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace vramfit {
namespace {

TEST(LargestThatFits, FindsEveryAnswerUnderEveryLimit) {
  for (std::int64_t limit = 0; limit <= 70; ++limit) {
    for (std::int64_t answer = 0; answer <= 75; ++answer) {
      EXPECT_EQ(largest_that_fits([answer](std::int64_t n) { return n <= answer; }, limit),
                std::min(answer, limit));
    }
  }
}

TEST(LargestThatFits, AsksSeldomAndNeverPastTwiceTheAnswer) {
  const std::int64_t answer = 1'000'003;
  int calls = 0;
  std::int64_t most = 0;
  const auto fits = [&](std::int64_t n) {
    ++calls;
    most = std::max(most, n);
    return n <= answer;
  };
  EXPECT_EQ(largest_that_fits(fits, std::numeric_limits<std::int64_t>::max()), answer);
  EXPECT_LE(calls, 42);
  EXPECT_LE(most, 2 * answer);
}

TEST(LargestThatFits, ReachesTheLargestNumber) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(largest_that_fits([](std::int64_t) { return true; }, most), most);
}

TEST(LargestNear, FindsEveryAnswerFromEveryGuess) {
  for (std::int64_t limit = 0; limit <= 20; ++limit) {
    for (std::int64_t answer = 0; answer <= 25; ++answer) {
      for (std::int64_t guess = 0; guess <= 25; ++guess) {
        EXPECT_EQ(largest_near(
                      guess, [answer](std::int64_t n) { return n <= answer; }, limit),
                  std::min(answer, limit));
      }
    }
  }
}

TEST(LargestNear, AsksTwiceWhereTheGuessIsRight) {
  for (const std::int64_t answer : {1, 7, 1000}) {
    int calls = 0;
    largest_near(
        answer, [&](std::int64_t n) { return ++calls, n <= answer; }, 65536);
    EXPECT_EQ(calls, 2);
  }
  int calls = 0;
  largest_near(
      0, [&](std::int64_t) { return ++calls, false; }, 65536);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace vramfit
