#pragma once

#include <stdexcept>

#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/small_batch/product.cuh"
#include "model/ops/linear_ops.h"

// From ops to what their kernels are told.

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
  if (op.quantized.x_scales == nullptr) {
    f.input.x = op.x.template as<const T>();
    f.input.pitch = static_cast<int>(in * std::int64_t{sizeof(T)});
  } else {
    f.input.encoded = op.x.template as<const std::uint8_t>();
    f.input.scales = op.quantized.x_scales->template as<const float>();
    f.input.pitch = static_cast<int>(in);
  }
  f.input.norm_weight = norm == nullptr ? nullptr : norm->weight.template as<const T>();
  f.input.norm_bias = norm == nullptr ? nullptr : elements_of<const T>(norm->bias);
  f.input.eps = norm == nullptr ? 0 : norm->eps;
  f.input.in = static_cast<int>(in);
  f.weight_scales = elements_of<const float>(op.quantized.weight_scales);
  f.bias = elements_of<const T>(op.bias);
  f.y = y.as<T>();
  f.out = static_cast<int>(op.weight.stored()[0]);
  f.row_bytes = static_cast<int>(in * op.weight.format().row().bits / 8);
  f.packed = is_packed<std::uint8_t>(f.row_bytes, {op.weight.data()}) &&
             is_packed<T>(in, {op.x.data(), f.input.norm_weight, f.input.norm_bias});
  return f;
}

inline Format format_of(const LinearForward& op) { return op.y.format(); }
inline Format format_of(const MlpUpForward& op) { return op.act.format(); }

template <typename T>
SmallBatch<T> arguments(const LinearForward& op) {
  SmallBatch<T> f = common_arguments<T>(op, op.y);
  f.residual = elements_of<const T>(op.residual);
  return f;
}
template <typename T>
SmallBatch<T> arguments(const MlpUpForward& op) {
  SmallBatch<T> f = common_arguments<T>(op, op.pre);
  f.act = op.act.as<T>();
  f.gated = op.kind == ActivationKind::SwiGlu;
  return f;
}

}  // namespace vramfit::gpu
