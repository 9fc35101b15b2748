#include "kernels/cuda/quantized/quantized_linear.h"

#include <algorithm>
#include <stdexcept>

#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

/// From column `first` of a row on; null stays null.
const void* columns_from(const Tensor* tensor, std::int64_t first) {
  if (tensor == nullptr) return nullptr;
  return tensor->as<std::byte>() + tensor->format().bytes(first);
}

/// A chunk of the weight's rows after the other, which are columns of y.
void multiply_dequantized(const LinearForward& op, GemmRunner& gemms, cudaStream_t stream) {
  const std::int64_t rows = op.x.shape()[0];
  const std::int64_t out = op.weight.stored()[0];
  const std::int64_t in = op.weight.stored()[1];
  Tensor& slab = *op.quantized.dequantized;
  const std::int64_t chunk = dequantized_rows(out, in, slab.format());
  for (std::int64_t first = 0; first < out; first += chunk) {
    const std::int64_t count = std::min(chunk, out - first);
    launch(Dequantize{op.weight, op.quantized.weight_scales, first, count, 0, in, slab}, stream);
    gemms.run({GemmMatrix::of(op.x, rows, in), GemmMatrix::of(slab, count, in).transpose(),
               GemmMatrix::columns_of(op.y, first, count), columns_from(op.residual, first),
               columns_from(op.bias, first)},
              op.workspace);
  }
}

void multiply_fp8(const LinearForward& op, GemmRunner& gemms) {
  const std::int64_t rows = op.x.shape()[0];
  const std::int64_t out = op.weight.stored()[0];
  const std::int64_t in = op.weight.stored()[1];
  Gemm gemm{GemmMatrix::of(op.x, rows, in), GemmMatrix::of(op.weight, out, in).transpose(),
            GemmMatrix::of(op.y, rows, out)};
  gemm.plus = op.residual == nullptr ? nullptr : op.residual->data();
  gemm.bias = op.bias == nullptr ? nullptr : op.bias->data();
  gemm.scales = GemmScales::Rows;
  gemm.a_scales = op.quantized.x_scales->as<float>();
  gemm.b_scales = op.quantized.weight_scales->as<float>();
  gemm.fast = true;
  gemms.run(gemm, op.workspace);
}

/// All elements of a tensor of two dimensions.
GemmMatrix all_of(const Tensor& tensor) {
  return GemmMatrix::of(tensor, tensor.stored()[0], tensor.stored()[1]);
}

}  // namespace

void multiply_codes(const CodesProduct& op, GemmRunner& gemms) {
  Gemm gemm{all_of(op.a), all_of(op.b).transpose(), all_of(op.to)};
  if (op.accumulate) gemm.plus = op.to.data();
  if (op.residual != nullptr) gemm.plus = op.residual->data();
  if (op.bias != nullptr) gemm.bias = op.bias->data();
  gemm.scales = GemmScales::Tensor;
  gemm.a_scales = op.a_scale.as<float>() + CodeScale::kScale;
  gemm.b_scales = op.b_scale.as<float>() + CodeScale::kScale;
  gemm.fast = op.pass == LinearPass::Forward;
  gemms.run(gemm, op.workspace);
}

void multiply_quantized(const LinearForward& op, GemmRunner& gemms, cudaStream_t stream) {
  if (op.x.format() == Format(DType::Fp8)) return multiply_fp8(op, gemms);
  if (op.x.format() == Format(DType::Int8)) return launch_int8_linear(op, stream);
  if (op.quantized.dequantized == nullptr) {
    throw std::logic_error("linear: weights of many rows are dequantised first");
  }
  multiply_dequantized(op, gemms, stream);
}

void multiply_quantized(const LinearBackwardInput& op, GemmRunner& gemms, cudaStream_t stream) {
  const std::int64_t rows = op.dy.shape()[0];
  const std::int64_t out = op.weight.stored()[0];
  const std::int64_t in = op.weight.stored()[1];
  if (op.dequantized == nullptr) {
    throw std::logic_error("linear: quantised weights are dequantised for backward");
  }
  Tensor& slab = *op.dequantized;
  const std::int64_t chunk = dequantized_columns(out, in, slab.format());
  for (std::int64_t first = 0; first < in; first += chunk) {
    const std::int64_t count = std::min(chunk, in - first);
    launch(Dequantize{op.weight, op.weight_scales, 0, out, first, count, slab}, stream);
    Gemm gemm{GemmMatrix::of(op.dy, rows, out), GemmMatrix::of(slab, out, count),
              GemmMatrix::columns_of(op.dx, first, count)};
    if (op.accumulate) gemm.plus = gemm.to.data;
    gemms.run(gemm, op.workspace);
  }
}

}  // namespace vramfit
