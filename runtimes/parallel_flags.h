#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtimes/setting.h"

// --gpus and --strategy, which every runtime that spreads a run over GPUs spells alike.
namespace vramfit {

/// What was typed for several GPUs, each of which has a batch of its own.
struct SeveralGpus {
  std::int64_t gpus = 1;
  /// "data-parallel", "pipeline", "fsdp" or a runtime's own, however it was spelt: "data_parallel",
  /// "pipeline_parallel", "fsdp_zero3"; absent: none was named.
  std::optional<std::string> strategy;
};

/// Absent without --gpus. Throws BadInput where that is no number.
std::optional<SeveralGpus> several_gpus(const Flags& flags);

/// What was typed for --strategy, however it was spelt: "fsdp" for "full_shard"; "" where nothing.
std::string strategy_named(const Flags& flags);

/// What --strategy needs.
inline constexpr Needs kGpus = {"--gpus", [](const Flags& flags) { return has(flags, "gpus"); }};

}  // namespace vramfit
