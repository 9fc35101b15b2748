#pragma once

#include <cstdint>

#include "runtimes/llamacpp/ggml/tensor.h"

namespace vramfit::llamacpp::ggml {

/// What ggml-cuda computes Op::FlashAttention with: best_fattn_kernel of fattn.cu.
enum class AttentionKernel : std::uint8_t { None, Vector, Tile, TensorCores };

/// ggml_cuda_get_best_fattn_kernel. `compute_capability` as ggml counts: 890.
AttentionKernel flash_attention_kernel(int compute_capability, const Tensor& op);

/// The oldest compute capability for which flash_attention_kernel says the same of every op.
int same_attention_since(int compute_capability);

/// Whether heads of one key are computed together: use_gqa_opt.
bool heads_together(const Tensor& op);

/// The output, and behind it copies in f16 of keys and values that the kernel does not read as
/// they are: ggml_cuda_flash_attn_ext_get_alloc_size. Bytes.
std::uint64_t flash_attention_alloc_size(int compute_capability, const Tensor& op);

}  // namespace vramfit::llamacpp::ggml
