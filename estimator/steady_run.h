#pragma once

#include "runtimes/vramfit/dry_run.h"

namespace vramfit {

/// The dry run of a run however long. Steps, micro-batches and decode steps repeat, but the pool
/// may need several of each to find their places: what step 2 left in pieces can make step 3 map
/// more. They are repeated until one maps nothing more. It then began and ended with the same
/// blocks in the same places, so that every later one is the same again, and `reserved` is final.
///
/// The report's stages and events are those of the repetitions it took: steps up to the last that
/// is not yet like its successors, and at least two; at least two micro-batches and decode steps
/// where there are as many.
RunReport steady_run(const VirtualGpu& gpu, const ModelConfig& config,
                     const TrainingOptions& options);
RunReport steady_run(const VirtualGpu& gpu, const ModelConfig& config,
                     const GenerationOptions& options);

}  // namespace vramfit
