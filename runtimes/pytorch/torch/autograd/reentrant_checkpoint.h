#pragma once

#include <functional>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// torch.utils.checkpoint.checkpoint with use_reentrant=True: forward leaves no graph and keeps the
/// input alone; backward runs `function` again as a whole, and then back through it. What a
/// torch.autograd.Function keeps beside autograd goes as well, which the other form leaves.
///
/// Follows torch/utils/checkpoint.py (CheckpointFunction), PyTorch 2.11.
///
/// `release`: drops what `function` has saved beside the input, once backward is through it. What
/// else it holds goes with the graph.
Tensor reentrant_checkpoint(
    Context& context, const std::function<Tensor(const Tensor&)>& function, const Tensor& input,
    const std::function<void()>& release = [] {});

}  // namespace vramfit::pytorch
