#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

// bitsandbytes' 4 bits, 0.50.2: functional.py (quantize_4bit, quantize_blockwise, dequantize_4bit),
// autograd/_functions.py (MatMul4Bit) and backends/cuda/ops.py (quantize_4bit, gemm_4bit).
namespace vramfit::pytorch {

/// QuantState: blocks of 64 share a scale in fp32, which double quantisation keeps in 8 bits.
struct FourBits {
  Dims sizes;         ///< (out, in)
  ScalarType type{};  ///< that it was quantised from
  Tensor values;      ///< two to a byte, as elements of bnb_4bit_quant_storage
  Tensor code;        ///< what the 16 codes stand for
  Tensor scales;      ///< fp32, or 8 bits
  // Of double quantisation, with blocks of 256.
  Tensor offset;
  Tensor nested_scales;
  Tensor nested_code;
};

/// Of a contiguous (out, in) weight.
FourBits quantize_4bit(const Tensor& weight, bool double_quant, ScalarType storage);

/// MatMul4Bit: x W^T + b. Saves nothing but the weight, of which it wants no gradient.
Tensor matmul_4bit(const Tensor& x, const FourBits& weight, const Tensor& bias);

}  // namespace vramfit::pytorch
