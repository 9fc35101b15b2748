#include "estimator/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace vramfit {
namespace {

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

TEST(EdgeNear, LeavesSomeWhereTheNextDoesNot) {
  const auto never = [] { return false; };
  for (const double each : {0.5, 1.0, 3.7}) {
    for (std::int64_t guess = 1; guess <= 1000; guess += 37) {
      int calls = 0;
      const auto line = [&](std::int64_t n) {
        return ++calls, 500 * each + 0.5 * each - each * static_cast<double>(n);
      };
      EXPECT_EQ(edge_near(guess, line, 1000, never), 500);
      EXPECT_LE(calls, 10);
      EXPECT_EQ(edge_near(guess, line, 300, never), 300);
    }
  }
  int tried = 0;
  const auto known_line = [&](std::int64_t n) {
    EXPECT_GT(n, 480);
    EXPECT_LT(n, 520);
    return ++tried, 500.5 - static_cast<double>(n);
  };
  EXPECT_EQ(edge_near(1, known_line, 1000, never, {Point{480, 20.5}, Point{520, -19.5}}), 500);
  EXPECT_LE(tried, 3);
  // What a run that completes leaves and what one lacks that does not are no line.
  int jumps = 0;
  const auto jump = [&](std::int64_t n) {
    return ++jumps, n <= 4720 ? 900.0 - 0.1 * static_cast<double>(n) : -4e3;
  };
  EXPECT_EQ(edge_near(4323, jump, 16384, never), 4720);
  EXPECT_LE(jumps, 18);
  // Far from a guess whose order is right.
  int far = 0;
  const auto far_line = [&](std::int64_t n) { return ++far, 9000.5 - static_cast<double>(n); };
  EXPECT_EQ(edge_near(13000, far_line, 1 << 20, never), 9000);
  EXPECT_LE(far, 6);
  const auto teeth = [](std::int64_t n) { return static_cast<double>(n % 7 - 3 + 60 - n); };
  for (std::int64_t guess = 1; guess <= 200; ++guess) {
    const std::int64_t edge = edge_near(guess, teeth, 200, never);
    EXPECT_GE(teeth(edge), 0);
    EXPECT_LT(teeth(edge + 1), 0);
  }
  for (const std::int64_t guess : {std::int64_t{5}, std::int64_t{1} << 40}) {
    EXPECT_EQ(edge_near(
                  guess, [](std::int64_t) { return -1.0; }, guess, never),
              0);
  }
}

/// Sizes that take `base` of a card and `each` more, and reserve up to `waste` beyond it, which
/// rises and falls like the teeth of a saw.
struct Saw {
  double base = 0.2;
  double each = 0.01;
  double waste = 0.2;
  double tooth = 0.17;  ///< width, of the size

  double tensors(std::int64_t size) const { return base + each * static_cast<double>(size); }
  double reserved(std::int64_t size) const {
    const double teeth = std::log(static_cast<double>(size)) / std::log(1.0 + tooth);
    return tensors(size) * (1.0 + waste * (teeth - std::floor(teeth)));
  }
  bool fits(std::int64_t size) const { return reserved(size) <= 1.0; }

  Trials trials() const {
    return {[this](std::int64_t size) { return tensors(size); },
            [this](std::int64_t size) {
              return Trial{fits(size), reserved(size)};
            },
            [] { return false; }};
  }
  /// By trying all.
  std::vector<std::int64_t> that_fit(std::int64_t limit) const {
    std::vector<std::int64_t> sizes;
    for (std::int64_t size = 1; size <= limit && tensors(size) <= 1.0; ++size) {
      if (fits(size)) sizes.push_back(size);
    }
    return sizes;
  }
};

TEST(Search, FindsTheLargestAndEveryHole) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> base(0.0, 0.99);
  std::uniform_real_distribution<double> waste(0.0, 0.24);
  std::uniform_real_distribution<double> tooth(0.02, 0.2);
  std::uniform_real_distribution<double> most(0.0, std::log(900.0));
  int with_holes = 0;
  for (int i = 0; i < 2000; ++i) {
    Saw saw;
    saw.base = base(random);
    saw.each = (1.0 - saw.base) / std::exp(most(random));
    saw.waste = waste(random);
    saw.tooth = tooth(random);
    const std::vector<std::int64_t> fit = saw.that_fit(2000);
    const Largest found = largest_and_holes(1 << 20, saw.trials());
    ASSERT_EQ(found.size, fit.empty() ? 0 : fit.back());
    if (fit.empty()) continue;
    EXPECT_EQ(found.step, 1);
    EXPECT_EQ(found.next, found.size + 1);
    std::vector<std::int64_t> holes;
    for (std::int64_t size = 1; size < fit.back(); ++size) {
      if (!saw.fits(size)) holes.push_back(size);
    }
    ASSERT_EQ(*found.holes, holes) << found.size;
    EXPECT_EQ(found.without_holes(), holes.empty() ? found.size : holes.front() - 1);
    with_holes += holes.empty() ? 0 : 1;
  }
  EXPECT_GT(with_holes, 200);
}

TEST(Search, LargeAnswersAreWithinOnePercent) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> most(std::log(1e3), std::log(1e6));
  for (int i = 0; i < 200; ++i) {
    Saw saw;
    saw.each = (1.0 - saw.base) / std::exp(most(random));
    int trials = 0;
    Trials asked = saw.trials();
    asked.run = [&](std::int64_t size) {
      return ++trials, Trial{saw.fits(size), saw.reserved(size)};
    };
    const Largest found = largest_and_holes(1 << 20, asked);
    std::int64_t largest = static_cast<std::int64_t>((1.0 - saw.base) / saw.each) + 1;
    while (!saw.fits(largest)) --largest;
    EXPECT_GE(found.size, largest - largest / 100);
    EXPECT_TRUE(saw.fits(found.size));
    EXPECT_FALSE(saw.fits(found.size + 1));
    EXPECT_LT(trials, 1500);
  }
}

/// What tensors take may dip by so much: below it a size may fit.
constexpr double kDips = 1.03;

// Islands among sizes that do not fit are missed between steps, never on one.
TEST(Search, NoneOfTheStepsItNamesFits) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> most(std::log(1e2), std::log(1e5));
  int stepped = 0;
  for (int i = 0; i < 200; ++i) {
    Saw saw;
    saw.each = (1.0 - saw.base) / std::exp(most(random));
    const auto seed = random();
    const auto fits = [&](std::int64_t size) {
      const bool island = std::minstd_rand(static_cast<unsigned>(size) ^ seed)() % 50 == 0;
      return saw.fits(size) || (island && saw.tensors(size) <= 1.0);
    };
    Trials trials = saw.trials();
    trials.run = [&](std::int64_t size) {
      return Trial{fits(size), std::min(saw.reserved(size), 1.0)};
    };
    const Largest found = largest_and_holes(1 << 20, trials);
    ASSERT_TRUE(found.from.has_value());
    EXPECT_GT(saw.tensors(*found.from + 1), kDips);
    EXPECT_LE(found.step, std::max<std::int64_t>(found.size / 100, 1));
    for (std::int64_t size = *found.from; size > found.size; size -= found.step) {
      EXPECT_FALSE(fits(size)) << size << " of " << found.size << " in steps of " << found.step;
    }
    stepped += found.step > 1 ? 1 : 0;
  }
  EXPECT_GT(stepped, 50);
}

TEST(Search, ASmallestSizeThatTakesAnotherPathDoesNotEndIt) {
  const Saw saw;
  Trials trials = saw.trials();
  trials.least = [&](std::int64_t size) { return size == 1 ? 5.0 : saw.tensors(size); };
  trials.run = [&](std::int64_t size) {
    return size == 1 ? Trial{} : Trial{saw.fits(size), saw.reserved(size)};
  };
  const Largest found = largest_and_holes(1 << 20, trials);
  EXPECT_EQ(found.size, saw.that_fit(1000).back());
  EXPECT_EQ(found.holes->front(), 1);
  EXPECT_EQ(found.without_holes(), 0);
}

TEST(Search, EndsAtItsLimit) {
  const Saw saw;
  for (std::int64_t limit = 0; limit <= 40; ++limit) {
    const Largest found = largest_and_holes(limit, saw.trials());
    EXPECT_EQ(found.size, limit);
    EXPECT_EQ(found.next, 0);
  }
}

TEST(Search, NothingFits) {
  Saw saw;
  saw.base = 3.0;
  EXPECT_EQ(largest_and_holes(1 << 20, saw.trials()).size, 0);
}

TEST(Search, FewTrialsFindSmallAnswersBelowAHighBound) {
  int runs = 0;
  Trials trials{[](std::int64_t) { return 0.99; },
                [&](std::int64_t size) {
                  ++runs;
                  return Trial{size <= 600, 0.99};
                },
                [] { return false; }};
  trials.few = true;
  const Largest found = largest_and_holes(10000, trials);
  EXPECT_EQ(found.size, 600);
  EXPECT_EQ(found.next, 601);
  EXPECT_LE(runs, 40);
}

TEST(Search, WhatMayNotGoOnStillFindsSomething) {
  Saw saw;
  saw.each = 0.002;
  Trials trials = saw.trials();
  trials.spent = [] { return true; };
  const Largest found = largest_and_holes(1 << 20, trials);
  EXPECT_TRUE(saw.fits(found.size));
  EXPECT_GT(found.step, 1);
  EXPECT_FALSE(found.from.has_value());
  EXPECT_FALSE(found.holes.has_value());
}

// Halves of 28 are 14, 21 and 22: what is between those that were tried is still looked at.
TEST(Search, HalvesGoOnToASizeWhoseNextDoesNotFit) {
  for (std::int64_t answer = 1; answer < 64; ++answer) {
    for (std::int64_t bound = answer + 1; bound <= 64; ++bound) {
      Trials trials{[=](std::int64_t size) { return size <= bound ? 0.99 : 2.0; },
                    [=](std::int64_t size) {
                      return Trial{size <= answer, 0.99};
                    },
                    [] { return true; }};
      const Largest found = largest_and_holes(1 << 20, trials);
      EXPECT_EQ(found.size, answer) << "below " << bound;
      EXPECT_EQ(found.next, answer + 1) << "below " << bound;
    }
  }
}

}  // namespace
}  // namespace vramfit
