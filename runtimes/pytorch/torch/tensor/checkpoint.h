#pragma once

#include <functional>
#include <vector>

#include "runtimes/pytorch/torch/tensor/ref.h"
#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// Activation checkpointing without re-entering the engine: in forward, tensors that nodes save are
/// let go; the first that is asked for in backward runs the function again, which fills the slots
/// of all of them. It stops as soon as the last is there.
///
/// Follows torch/utils/checkpoint.py (_CheckpointFrame, use_reentrant=False), PyTorch 2.11.
struct CheckpointFrame {
  struct Slot {
    Tensor tensor;
    bool wanted = true;  ///< the node that saved it still lives
  };

  explicit CheckpointFrame(Context& c) : context(c) {}

  /// Runs `function` again, once.
  void recompute();
  /// A slot for a tensor saved in forward, or its content while recomputing.
  int save(const Tensor& tensor);

  int references = 0;
  Context& context;
  std::function<void()> function;
  std::vector<Slot> slots;
  std::size_t recomputed = 0;
  bool recomputing = false;
  bool done = false;
};

/// Thrown within a recomputation when nothing more is needed of it.
struct StopRecomputation {};

/// torch.utils.checkpoint.checkpoint: `function` of `input`, kept for recomputation with what it
/// holds.
Tensor checkpoint(Context& context, const std::function<Tensor(const Tensor&)>& function,
                  const Tensor& input);

}  // namespace vramfit::pytorch
