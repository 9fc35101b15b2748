#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace vramfit {

/// What a runtime can be asked, and how what is not said is settled.
struct Capabilities {
  // Why not, as a message says it; null: it can be asked.
  const char* no_training = nullptr;
  const char* no_timelines = nullptr;  ///< its ledger, allocation by allocation
  const char* no_advice = nullptr;
  const char* no_formulas = nullptr;  ///< what others' formulas say, beside its own

  bool machines = false;         ///< a run may be over cards of several kinds
  bool other_platforms = false;  ///< and on cards without CUDA

  /// A model runs in the type that its config names, where no precision is given.
  bool as_stored = true;
  /// Weights that a checkpoint holds in few bits run so.
  bool quantized_as_stored = false;
  /// Its precisions may be formats of few bits.
  bool quantized_precisions = false;
  /// Whose defaults its settings have: "transformers'"; empty: its own.
  std::string_view defaults_of = {};
  /// Settings that a user may believe to be otherwise, of those that it has: what is assumed of
  /// them is said.
  std::vector<std::string_view> assumed = {"precision", "optimizer", "batch", "seq"};
  /// What memory is taken in, bytes: what a card has left is rounded down to it.
  std::uint64_t granularity = 1;
  /// What of driver and libraries is measured apart in its processes: `parts` in data/gpus.json.
  std::vector<std::string_view> measured_parts = {};
};

}  // namespace vramfit
