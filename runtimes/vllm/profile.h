#pragma once

#include <cstdint>

#include "runtimes/gpu.h"
#include "runtimes/vllm/options.h"
#include "runtimes/vllm/shape.h"

namespace vramfit::vllm {

/// What vLLM runs its model on before it makes its cache.
struct Batch {
  std::int64_t tokens = 0;
  std::int64_t sequences = 0;
};

/// Whether vLLM runs it by its second model runner.
bool by_second_runner(const Shape& shape, const Options& options);

/// Whether that runner puts weights on the host (--cpu-offload-gb).
bool offloads(const Shape& shape, const Options& options);

/// The most that layers allocate in a step of so many tokens, as graphs capture it: without logits.
/// Bytes.
std::uint64_t activations(const Shape& shape, const Options& options, const Batch& batch, int sm);

/// Where a layer's experts work, all layers' in the same place, which is made with the first step
/// and stays (modular_kernel.py: TritonExperts). Bytes.
std::uint64_t expert_workspace(const Shape& shape, const Options& options, std::int64_t tokens,
                               int sm);

/// Whether it stays: triton_kernels have theirs for each step.
bool keeps_workspace(const Shape& shape, const Options& options, int sm);

/// Of the first model runner, whose profile run samples as well, by top-k and top-p. Bytes.
std::uint64_t sampled(const Shape& shape, const Options& options, const Batch& batch);

/// Of a pipeline's stages but the first: where what it is handed, and the residual stream, are put.
/// Bytes.
std::uint64_t passed_on(const Shape& shape, const Options& options, const Batch& batch);

/// A row of logits a request, rounded up to a power of two, or a multiprocessor where these are
/// fewer, of the kernel that masks them by top-k and top-p: is made when it runs first, and stays
/// (topk_topp_triton.py). Bytes.
std::uint64_t masking_buffer(const Shape& shape, const Batch& batch, const Gpu& gpu);

/// What the profile run makes that stays: where experts work, and the buffer that logits are masked
/// in, of releases that count it apart. Bytes.
std::uint64_t kept_of_profile(const Shape& shape, const Options& options, const Batch& batch,
                              const Gpu& gpu);

/// The profile run's, with what its first step allocates to stay, and where it compiles what
/// kernels are tried on.
std::uint64_t profiled(const Shape& shape, const Options& options, const Batch& batch,
                       const Gpu& gpu);

/// What PyTorch reserves for such steps: the same, with the gaps between blocks of several sizes.
std::uint64_t working_set(const Shape& shape, const Options& options, const Batch& batch);

/// PyTorch's own of cuBLAS's handle (getChosenWorkspaceSize).
std::uint64_t blas_workspace(int sm);

}  // namespace vramfit::vllm
