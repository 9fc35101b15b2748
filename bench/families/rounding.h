#pragma once

#include "bench/rows/case.h"
#include "bench/rows/counters.h"

namespace vramfit::bench {

/// What a row's precision costs, beside fp32 on the same device:
///   logits_error: of the row's model, with random weights; left out where fp32 does not fit
///   trained_loss and trained_loss_fp32: of a small model that was trained (trained_loss.h)
/// Nothing where the row has no real device, no time is to be spent, or the precision is no
/// rounding of fp32.
void count_rounding(Counters& counters, const Case& row, const GenerationOptions& options);

}  // namespace vramfit::bench
