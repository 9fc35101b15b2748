#pragma once

#include "bench/families/cliff.h"
#include "bench/rows/case.h"
#include "bench/rows/counters.h"
#include "runtimes/pytorch/run.h"
#include "runtimes/vramfit/options.h"

namespace vramfit::bench {

/// The row's work as a PyTorch user would ask for it: the optimizer of the same name (`adamw` is
/// torch.optim.AdamW as it comes, `adamw-same` its fused form; where ours keep masters, fp32
/// weights under autocast), flash attention as sdpa, cublas as eager. What the optimizer keeps is
/// PyTorch's: moments in the weights' dtype, whatever the row's name says of ours.
pytorch::TorchTraining in_pytorch(const TrainingOptions& options);
pytorch::TorchGeneration in_pytorch(const GenerationOptions& options);

/// Whether PyTorch or bitsandbytes has it as we do: Lion of theirs is not predicted.
bool has_counterpart(const OptimizerKind& ours);

/// pytorch_*: what PyTorch is predicted to take for it on the row's card. Nothing where there is no
/// card, or PyTorch runs nothing alike.
void count_pytorch(Counters& counters, const Case& row, const StepOptions& options);

/// PyTorch's largest size, and pytorch_* at it; at size 1 where none fits.
void count_pytorch_cliff(Counters& counters, const Case& row, const Cliff& cliff);

}  // namespace vramfit::bench
