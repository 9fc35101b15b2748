#pragma once

#include <cstdint>
#include <functional>

#include "runtimes/gpu.h"
#include "runtimes/pytorch/torch/memory/libraries.h"
#include "runtimes/pytorch/torch/memory/tape.h"
#include "runtimes/pytorch/torch/tensor/autocast.h"
#include "runtimes/pytorch/torch/tensor/cublas.h"
#include "runtimes/pytorch/torch/tensor/ref.h"
#include "runtimes/pytorch/torch/tensor/release.h"

namespace vramfit::pytorch {

struct CheckpointFrame;

/// What PyTorch keeps in globals and thread-local state.
class Context {
 public:
  /// All but the GPU must outlive the context. `capacity`: bytes that the allocator may hold.
  Context(Tape& tape_, const Release& release_, const Gpu& gpu, std::uint64_t capacity_);
  /// On no card, and on the meta device: what is made has a shape alone.
  Context(Tape& tape_, const Release& release_);
  ~Context();

  /// A kernel runs that may report a failed assertion (CUDA_KERNEL_ASSERT): one that looks up rows,
  /// sums up, or casts what it loads (c10/core/DynamicCast.h).
  void use_asserts() {
    if (!meta && !elsewhere) libraries.use_asserts();
  }

  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Tape& tape;
  Libraries libraries;
  const Release& release;
  Arch arch;
  int multiprocessors = 0;
  std::uint64_t capacity = 0;

  bool grad_enabled = true;
  bool meta = false;             ///< torch.device("meta"): modules are made without memory
  bool elsewhere = false;        ///< another GPU runs: what it makes takes no memory here
  bool backward_thread = false;  ///< the engine runs backward on a thread of its own
  std::uint64_t next_sequence = 0;
  Autocast autocast;
  Cublas cublas;
  /// Tensor.register_post_accumulate_grad_hook, and DDP's, of every leaf; none: nobody asks.
  std::function<void(TensorImpl& leaf)> after_accumulate;
  Tensor bitsandbytes_map;          ///< name2qmap: its codes of 8 bits, once they are needed
  Ref<CheckpointFrame> checkpoint;  ///< saved tensors go there: forward, or being recomputed
};

/// torch.no_grad(), and what else is set for a scope.
template <typename T>
class Setting {
 public:
  Setting(T& variable, T value) : variable_(variable), old_(std::move(variable)) {
    variable_ = std::move(value);
  }
  ~Setting() { variable_ = std::move(old_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  T& variable_;
  T old_;
};

/// What follows is done by a layer: this one, or the one that made a tensor.
class LayerScope {
 public:
  LayerScope(Context& context, int layer) : setting_(context.tape.layer, layer) {}
  explicit LayerScope(const Tensor& tensor) : LayerScope(tensor.context(), tensor.layer()) {}

 private:
  Setting<int> setting_;
};

}  // namespace vramfit::pytorch
