#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtimes/vllm/options.h"
#include "runtimes/vllm/shape.h"

// Tensors that are alive at once at a layer's widest places.
namespace vramfit::vllm {

/// Each by elements of a token.
using Alive = std::vector<std::int64_t>;

/// What PyTorch counts for a tensor that is large enough for a segment of its own: where less than
/// a mebibyte is left of that, it is not split (should_split). Bytes.
std::int64_t allocated(std::int64_t bytes);
std::int64_t allocated(const Alive& alive, std::int64_t tokens, std::int64_t own);

/// Of a layer, while it is at its MLP, or at its projections.
///
/// Where it is compiled, a piece reaches from behind one layer's attention to the next one's. Its
/// caller holds what it is called with, attention's output and the residual stream, until it
/// returns. Inductor keeps the sum that the next layer adds to, frees each buffer at its last use
/// and writes none in the place of one of another size.
std::array<Alive, 2> compiled(const Shape& shape, const Layer& layer, std::int64_t ranks);

/// Op by op: what a module was called with, and what it named, is alive until it returns.
/// `in_bytes`: what goes into products is made bytes.
std::array<Alive, 2> eager(const Shape& shape, const Layer& layer, std::int64_t ranks,
                           bool in_bytes);

/// Of an attention through ranks: what went in, queries, keys' and values' latent beside what it is
/// of, and what comes out.
Alive latent(const Shape& shape, const Layer& layer, std::int64_t ranks);

/// Of an MLP of experts, beside where these work: what goes in and comes out, and of each expert
/// that a token goes to its weight, number and place.
Alive mixed(const Shape& shape, const Layer& layer, const Options& options, int sm);

/// Op by op, while the experts work that every token passes: what went in, its norm, the residual
/// stream and what the layer's caller holds. Otherwise they are among the above.
Alive shared_experts(const Shape& shape, const Layer& layer, const Options& options);

/// Whether its experts are stored in MXFP4.
bool in_mxfp4(const Shape& shape, const Options& options);
/// Whether these are multiplied by triton_kernels, as on Hopper; by Marlin elsewhere.
bool by_triton_kernels(const Shape& shape, const Options& options, int sm);

}  // namespace vramfit::vllm
