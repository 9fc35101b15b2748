#pragma once

#include "kernels/cuda/small_batch/product.cuh"
#include "model/ops/linear_ops.h"

// From ops to SmallBatch.

namespace vramfit::gpu {

template <typename T>
T* elements_of(const Tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->as<T>();
}

/// What LinearForward and MlpUpForward have in common.
template <typename T, typename Op>
SmallBatch<T> common_arguments(const Op& op, Tensor& y) {
  const std::int64_t in = op.weight.stored()[1];
  if (op.x.shape()[1] != in) throw std::logic_error("linear: rows of x and weight differ");
  const auto* norm = op.norm;
  SmallBatch<T> f{};
  f.input.x = op.x.template as<const T>();
  f.input.norm_weight = norm == nullptr ? nullptr : norm->weight.template as<const T>();
  f.input.norm_bias = norm == nullptr ? nullptr : elements_of<const T>(norm->bias);
  f.input.eps = norm == nullptr ? 0 : norm->eps;
  f.input.in = static_cast<int>(in);
  f.weight_scales = elements_of<const float>(op.quantized.weight_scales);
  f.bias = elements_of<const T>(op.bias);
  f.y = y.as<T>();
  f.out = static_cast<int>(op.weight.stored()[0]);
  f.row_bytes = static_cast<int>(in * op.weight.format().row().bits / 8);
  f.stages = ceil_divide(f.row_bytes, kRowBytes);
  f.packed = is_packed<std::uint8_t>(f.row_bytes, {op.weight.data()}) &&
             is_packed<T>(in, {op.x.data(), f.input.norm_weight, f.input.norm_bias});
  return f;
}

template <typename T>
SmallBatch<T> arguments(const LinearForward& op) {
  SmallBatch<T> f = common_arguments<T>(op, op.y);
  f.residual = elements_of<const T>(op.residual);
  f.tiles = ceil_divide(f.out, kTileRows);
  return f;
}

template <typename T>
SmallBatch<T> arguments(const MlpUpForward& op) {
  SmallBatch<T> f = common_arguments<T>(op, op.pre);
  f.act = op.act.as<T>();
  f.gated = op.kind == ActivationKind::SwiGlu;
  f.tiles = f.gated ? ceil_divide(f.out / 2, kTileRows / 2) : ceil_divide(f.out, kTileRows);
  return f;
}

}  // namespace vramfit::gpu
