#pragma once

#include "estimator/ask/options.h"
#include "runtimes/runtime.h"

namespace vramfit {

/// What flags of a Trainer say beside what they are called: that it passes on the loss alone, and
/// that its bf16 and fp16 are autocast, which under FSDP is mixed precision over fp32 weights.
void run_as_a_trainer(const Options& options, const Runtime& runtime, Flags& flags);

}  // namespace vramfit
