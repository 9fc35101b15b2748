#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/vllm/alive.h"
#include "runtimes/vllm/architectures.h"
#include "runtimes/vllm/config.h"
#include "runtimes/vllm/weights.h"

// Layers that keep as much of any sequence: linear attention, Mamba-2 and short convolutions
// (vllm/model_executor/layers/mamba/).
namespace vramfit::vllm {

/// What the config says of those of such a class.
Recurrent recurrent_of(const Config& config, const Architecture& architecture, std::int64_t hidden);

/// Tensors of one of them, of one rank, in the order in which they are made.
std::vector<Weight> recurrent_weights(const Shape& shape, std::int64_t ranks);

/// What one keeps of a sequence: of its convolution the last tokens, drafts among them, and a
/// matrix a head (MambaStateShapeCalculator). Bytes.
std::int64_t state_bytes(const Shape& shape, const Options& options);

/// At its widest places, op by op: what is projected, and what is made of it.
std::vector<Alive> recurrent_places(const Shape& shape, std::int64_t ranks, bool in_bytes);

/// Where Mamba-2's kernels are tried with the first layer that has them: what is projected, what
/// comes out, and the buffer that empties caches between trials (triton.testing.do_bench). Bytes.
std::int64_t tried_bytes(const Shape& shape, const Options& options, std::int64_t tokens);

}  // namespace vramfit::vllm
