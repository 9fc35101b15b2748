#pragma once

#include "runtimes/runtime.h"

namespace vramfit {

/// A workload's run, however long it is asked to be. Steps, micro-batches and decode steps repeat,
/// but an allocator may need several of each to find their places: what step 2 left in pieces can
/// make step 3 take more. They are repeated until one takes nothing more from the driver and
/// reaches no new peak.
///
/// The report's stages and events are those of the repetitions it took: steps up to the last that
/// is not yet like its successors, and at least two; at least two micro-batches and decode steps
/// where there are as many; its allocations are those of all that was walked. It may take as much
/// beyond the capacity as the extent says (Extent::extra_capacity). Throws BadInput where the model
/// cannot be run so.
Outcome steady_run(const Workload& workload, const Gpu& gpu, std::uint64_t capacity,
                   const ModelConfig& config, const Detail& detail = {},
                   std::uint64_t extra_capacity = 0);

}  // namespace vramfit
