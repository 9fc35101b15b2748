#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/gpu.h"
#include "runtimes/vllm/profile.h"

namespace vramfit::vllm {

/// Numbers of tokens that CUDA graphs are captured of, from one on (config/vllm.py).
std::vector<std::int64_t> capture_sizes(const Options& options, const Batch& batch);

/// What the driver keeps of the graphs, each piece of a layer one and each whole model one. Bytes.
std::uint64_t graph_code(const Shape& shape, const Options& options, const Batch& batch);

/// What the first runner takes them for, having captured two of each kind: the first one's, and of
/// each further one no less than a mebibyte (profile_cudagraph_memory). Bytes.
std::uint64_t graph_estimate(const Shape& shape, const Options& options, const Batch& batch,
                             const Gpu& gpu);

/// What their kernels work on, which no other allocation may have. Bytes.
std::uint64_t graph_pool(const Shape& shape, const Options& options, const Batch& batch,
                         const Gpu& gpu);

}  // namespace vramfit::vllm
