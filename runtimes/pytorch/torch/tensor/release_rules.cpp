#include "runtimes/pytorch/torch/tensor/release_rules.h"

#include <algorithm>
#include <iterator>

namespace vramfit::pytorch {
namespace {

struct Row {
  std::string_view release;
  ReleaseRules rules;
};

constexpr ReleaseRules kOf213 = {.workspaces = Workspaces::Shared,
                                 .large_workspaces_on_blackwell = true,
                                 .oldest_segment_first = true,
                                 .outer_products_by_triton = true,
                                 .logic_of_bools = true,
                                 .extremes_together = true,
                                 .sorts_few_bits = true,
                                 .grouped_mm_on_blackwell = 5376};

/// 2.13's, and what moved since.
constexpr ReleaseRules of_215() {
  ReleaseRules rules = kOf213;
  rules.workspaces = Workspaces::OfCalls;
  rules.lt_adds_matrices = true;
  rules.efficient_takes_groups = true;
  rules.efficient_sums_for_masks = true;
  rules.cudnn_widths_by_direction = true;
  rules.efficient_seeds_on_gpu = true;
  rules.extremum_masks_first = true;
  return rules;
}

// tests/standin/release_ops_test.py holds each against PyTorch's own ops, and
// tests/releases_fit_test.py whole runs.
constexpr Row kRows[] = {
    {.release = "2.9",
     .rules = {.sums_few_rows_in_place = false,
               .cub_lays_out_words = false,
               .grouped_mm_on_hopper = 640}},
    {.release = "2.11", .rules = {}},
    {.release = "2.13", .rules = kOf213},
    {.release = "2.15", .rules = of_215()},
};

}  // namespace

const ReleaseRules* rules_of(std::string_view release) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& one) { return one.release == release; });
  return row == std::end(kRows) ? nullptr : &row->rules;
}

}  // namespace vramfit::pytorch
