#pragma once

#include "kernels/cuda/base/dispatch.cuh"
#include "model/ops/linear_ops.h"

namespace vramfit::gpu {

/// What becomes of the int32 sums of an int8 product, where they are, in registers: tensor cores
/// leave a thread two neighbours in each of two rows, eight apart.
template <typename T>
struct Int8Epilogue {
  static constexpr int kApart = 8;

  const float* x_scales;
  const float* weight_scales;
  const T* bias;
  const T* residual;
  T* y;
  int rows;
  int columns;  ///< even

  /// Of the two rows from `row` on; what is past the last row is of no use.
  __device__ float2 scales(int row) const {
    return {x_scales[min(row, rows - 1)], x_scales[min(row + kApart, rows - 1)]};
  }

  /// `scales` are those of the rows. Writes nothing where y ends.
  __device__ void write(int row, int column, float2 scales, int sum0, int sum1, int sum2,
                        int sum3) const {
    if (column >= columns) return;
    const float2 own = *reinterpret_cast<const float2*>(weight_scales + column);
    write_row(row, column, static_cast<float>(sum0) * scales.x * own.x,
              static_cast<float>(sum1) * scales.x * own.y);
    write_row(row + kApart, column, static_cast<float>(sum2) * scales.y * own.x,
              static_cast<float>(sum3) * scales.y * own.y);
  }

 private:
  __device__ void write_row(int row, int column, float first, float second) const {
    if (row >= rows) return;
    const std::int64_t at = std::int64_t{row} * columns + column;
    float values[] = {first, second};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (bias != nullptr) values[i] += to_float(bias[column + i]);
      if (residual != nullptr) values[i] += to_float(residual[at + i]);
    }
    if constexpr (sizeof(T) == 2) {
      *reinterpret_cast<std::uint32_t*>(y + at) = packed(values, T{});
    } else {
      *reinterpret_cast<float2*>(y + at) = {values[0], values[1]};
    }
  }
};

template <typename T>
Int8Epilogue<T> int8_epilogue(const LinearForward& op) {
  expect(op.weight.stored()[1] % 16 == 0 && op.weight.stored()[0] % 2 == 0,
         "linear: int8 rows are multiples of 16 bytes, and their number is even");
  const auto elements = [](const Tensor* tensor) {
    return tensor == nullptr ? nullptr : tensor->as<const T>();
  };
  return {op.quantized.x_scales->as<float>(),
          op.quantized.weight_scales->as<float>(),
          elements(op.bias),
          elements(op.residual),
          op.y.as<T>(),
          static_cast<int>(op.x.shape()[0]),
          static_cast<int>(op.weight.stored()[0])};
}

}  // namespace vramfit::gpu
