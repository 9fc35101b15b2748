#pragma once

#include "model/transformer/run.h"
#include "runtimes/vramfit/virtual_device.h"

namespace vramfit {

/// A GPU as far as a run can tell: what workspaces it wants, and how many bytes its pool may map.
struct VirtualGpu {
  Arch arch;
  std::uint64_t pool_capacity = kUnlimitedBytes;  ///< bytes
};

/// Asked after each step whether it was the last.
using StopCondition = std::function<bool(const Ledger&)>;

/// The run itself with the arithmetic withheld: same calls, same allocations, same placement.
/// Placement does not depend on the capacity, so an unlimited run's `reserved` says whether a
/// limited one completes. Without `events` the report has none, and steps after the first are
/// not walked but played.
RunReport dry_run(const VirtualGpu& gpu, const ModelConfig& config, const TrainingOptions& options,
                  int steps = kDefaultSteps, bool events = true,
                  const StopCondition& stop_when = {});
RunReport dry_run(const VirtualGpu& gpu, const ModelConfig& config,
                  const GenerationOptions& options, std::int64_t max_decodes = kMaxSeq,
                  bool events = true);

}  // namespace vramfit
