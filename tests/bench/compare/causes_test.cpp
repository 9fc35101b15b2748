#include "bench/compare/causes.h"

#include <gtest/gtest.h>

#include "bench/report/columns.h"

namespace vramfit::bench::compare {
namespace {

using Counters = std::map<std::string, Values>;

Comparison comparison(const Counters& before, const Counters& after, const Rules& rules = {}) {
  const auto run = [](const Counters& counters) {
    return RunFile{"run.json", {}, {}, {{"Training/x", true, "NVIDIA H200", "", counters}}};
  };
  return compare_runs(run(before), run(after), rules);
}

std::vector<std::string> told(const Comparison& comparison,
                              const std::map<std::string, Moved>& moved = {},
                              const Rules& rules = {}) {
  std::vector<std::string> lines;
  for (const Cause& cause : causes(comparison, rules, moved)) {
    lines.push_back(size_text(cause) + (cause.worse ? "! " : " ") + cause.what);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(Causes, TakeTheLevelsApart) {
  constexpr double kMiB = 1 << 20;
  EXPECT_EQ(told(comparison({{"mem_allocated", {100 * kMiB}},
                             {"mem_activations", {60 * kMiB}},
                             {"mem_reserved", {104 * kMiB}},
                             {"mem_device_used", {204 * kMiB}},
                             {"mem_cudnn", {10 * kMiB}},
                             {"mem_step1_forward_peak", {100 * kMiB}}},
                            {{"mem_allocated", {103 * kMiB}},
                             {"mem_activations", {63 * kMiB}},
                             {"mem_reserved", {112 * kMiB}},
                             {"mem_device_used", {219 * kMiB}},
                             {"mem_cudnn", {16 * kMiB}},
                             {"mem_step1_forward_peak", {103 * kMiB}}})),
            (Lines{"+6.00 MiB! cuDNN", "+5.00 MiB! reserved beyond tensors: gaps and rounding",
                   "+3.00 MiB! activations at the peak", "+1.00 MiB! beside the pool"}));
}

TEST(Causes, OfOneTensorEveryStepIsOneCause) {
  const Comparison runs = comparison({{"mem_allocated", {4096}}, {"mem_workspace", {0}}},
                                     {{"mem_allocated", {8192}}, {"mem_workspace", {4096}}});
  Moved moved;
  for (const int step : {1, 2}) {
    moved.tensors.push_back({step, Stage::Backward, Category::Workspace, "planted", 1, 4096});
  }
  EXPECT_EQ(told(runs, {{"Training/x", moved}}),
            (Lines{"+4.00 KiB! planted (workspace) in backward"}));
}

TEST(Causes, BelowThePeakTheCounterIsNamed) {
  EXPECT_EQ(told(comparison({{"mem_allocated", {9}}, {"mem_step1_forward_peak", {5}}},
                            {{"mem_allocated", {9}}, {"mem_step1_forward_peak", {4}}})),
            (Lines{"-1 B mem_step1_forward_peak"}));
  EXPECT_EQ(told(comparison({{"mem_allocated", {9}}, {"mem_max_batch", {5}}},
                            {{"mem_allocated", {9}}, {"mem_max_batch", {4}}})),
            (Lines{"-1! mem_max_batch"}));
}

TEST(Causes, WhatARowIsAllowedIsNotWorse) {
  constexpr double kMiB = 1 << 20;
  const Counters before = {
      {"mem_allocated", {100 * kMiB}}, {"mem_workspace", {0}}, {"mem_reserved", {104 * kMiB}}};
  const auto after = [&](double tensors, double gaps) {
    return Counters{{"mem_allocated", {(100 + tensors) * kMiB}},
                    {"mem_workspace", {tensors * kMiB}},
                    {"mem_reserved", {(104 + tensors + gaps) * kMiB}}};
  };
  const auto marked = [&](double tensors, double gaps, double allowed) {
    Rules rules;
    rules.allowance.bytes = allowed * kMiB;
    return told(comparison(before, after(tensors, gaps), rules), {}, rules);
  };
  const std::string gaps = "reserved beyond tensors: gaps and rounding";
  EXPECT_EQ(marked(3, 60, 50), (Lines{"+60.00 MiB! " + gaps, "+3.00 MiB workspace at the peak"}));
  EXPECT_EQ(marked(30, 40, 50), (Lines{"+40.00 MiB! " + gaps, "+30.00 MiB! workspace at the peak"}))
      << "together they are more than is allowed";
  EXPECT_EQ(marked(30, -100, 50),
            (Lines{"-100.00 MiB " + gaps, "+30.00 MiB workspace at the peak"}))
      << "a row that is better, but for what it is allowed";
  EXPECT_EQ(marked(30, 10, 50), Lines{});
}

TEST(Causes, OfARunThatEndsEarlyNothingElseIsOne) {
  EXPECT_EQ(told(comparison({{"mem_allocated", {9}}, {"oom", {0}}},
                            {{"mem_allocated", {4}}, {"oom", {1}}})),
            (Lines{"! runs out of memory"}));
}

TEST(Causes, NothingWhereNothingDiffers) {
  EXPECT_EQ(told(comparison({{"mem_allocated", {9}}}, {{"mem_allocated", {9}}})), Lines{});
}

TEST(Columns, LinesAreBrokenAtSpacesAndIndented) {
  const std::string half(60, 'a');
  EXPECT_EQ(wrapped("  " + half + " " + half), "  " + half + "\n    " + half + "\n");
  EXPECT_EQ(wrapped(std::string(101, 'a')), std::string(100, 'a') + "\n  a\n");
  EXPECT_EQ(wrapped(""), "\n");
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "ä";
  EXPECT_EQ(wrapped(umlauts), umlauts + "\n") << "letters are counted, not bytes";
}

}  // namespace
}  // namespace vramfit::bench::compare
