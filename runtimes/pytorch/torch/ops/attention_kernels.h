#pragma once

#include "runtimes/pytorch/torch/ops/attention.h"

// The kernels behind scaled_dot_product_attention: what each returns, saves and allocates besides.
// aten/src/ATen/native/transformers, PyTorch 2.11.
namespace vramfit::pytorch {

/// convert_boolean_attn_mask: 0 and -inf in the query's type.
Tensor additive_mask(const Tensor& mask, ScalarType type);
/// preprocess_mask: memory-efficient attention wants rows that begin at multiples of 8 elements,
/// and where they do not copies the mask into a wider one of which it takes a slice. Of every head.
Tensor aligned_mask(const Tensor& mask, std::int64_t heads);

Tensor cudnn_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                       const SdpaOptions& options);
Tensor flash_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                       const SdpaOptions& options);
Tensor efficient_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                           const SdpaOptions& options);
Tensor math_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                      const SdpaOptions& options);

}  // namespace vramfit::pytorch
