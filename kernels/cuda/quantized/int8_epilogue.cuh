#pragma once

#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/quad.cuh"
#include "model/ops/linear_ops.h"

// What becomes of the int32 sums of an int8 product, where they are, in registers.

namespace vramfit::gpu {

/// Two neighbouring columns of a row, before anything is added that has a row of its own.
template <typename T>
struct Int8Values {
  const float* x_scales;
  const float* weight_scales;
  const T* bias;
  int rows;
  int columns;  ///< even

  /// Past the last row it is of no use.
  __device__ float row_scale(int row) const { return x_scales[min(row, rows - 1)]; }

  /// `column`: the first of the two; past the last they are of no use.
  __device__ float2 operator()(int column, float row_scale, const int* sums) const {
    column = min(column, columns - 2);
    const float2 own = *reinterpret_cast<const float2*>(weight_scales + column);
    float2 values = {static_cast<float>(sums[0]) * row_scale * own.x,
                     static_cast<float>(sums[1]) * row_scale * own.y};
    if (bias != nullptr) {
      values.x += to_float(bias[column]);
      values.y += to_float(bias[column + 1]);
    }
    return values;
  }
};

template <typename T>
struct Int8Epilogue {
  static constexpr int kApart = 8;  ///< a lane's two rows

  Int8Values<T> values;
  const T* residual;
  T* y;

  /// Four groups of 8 columns from `first` on, of the lane's rows `row` and `row` + kApart: four
  /// sums a group, two of each row. Writes nothing where y ends.
  __device__ void write(int row, int first, const int* sums) const {
    write_row(row, first, sums);
    write_row(row + kApart, first, sums + 2);
  }

 private:
  __device__ void write_row(int row, int first, const int* sums) const {
    const float scale = values.row_scale(row);
    if constexpr (sizeof(T) == 2) {
      if (values.columns % 8 == 0) return write_groups(row, first, scale, sums);
    }
#pragma unroll
    for (int g = 0; g < kQuadGroups; ++g) {
      write_pair(row, first + quad_column(g), scale, sums + 4 * g);
    }
  }

  __device__ std::int64_t place(int row, int column) const {
    return std::int64_t{row} * values.columns + column;
  }

  __device__ void write_pair(int row, int column, float scale, const int* sums) const {
    if (row >= values.rows || column >= values.columns) return;
    const std::int64_t at = place(row, column);
    float2 pair = values(column, scale, sums);
    if (residual != nullptr) {
      pair.x += to_float(residual[at]);
      pair.y += to_float(residual[at + 1]);
    }
    if constexpr (sizeof(T) == 2) {
      *reinterpret_cast<std::uint32_t*>(y + at) = packed(&pair.x, T{});
    } else {
      *reinterpret_cast<float2*>(y + at) = pair;
    }
  }

  /// Lanes read and write whole groups, of 16 bytes: pairs would be four times as many accesses,
  /// each of half a sector.
  __device__ void write_groups(int row, int first, float scale, const int* sums) const {
    const int own = first + 8 * quad_lane();
    const bool there = row < values.rows && own < values.columns;
    std::uint32_t words[kQuadGroups] = {};
    if (residual != nullptr) {
      if (there) load_group(words, residual + place(row, own));
      transpose_quad(words);
    }
#pragma unroll
    for (int g = 0; g < kQuadGroups; ++g) {
      float2 pair = values(first + quad_column(g), scale, sums + 4 * g);
      if (residual != nullptr) {
        float more[2];
        unpack(words[g], more, T{});
        pair.x += more[0];
        pair.y += more[1];
      }
      words[g] = packed(&pair.x, T{});
    }
    transpose_quad(words);
    if (there) store_group(y + place(row, own), words);
  }
};

template <typename T>
Int8Values<T> int8_values(const Tensor& weight, const QuantizedOperands& operands,
                          const Tensor* bias, std::int64_t rows) {
  expect(weight.stored()[1] % 16 == 0 && weight.stored()[0] % 2 == 0,
         "linear: int8 rows are multiples of 16 bytes, and their number is even");
  return {operands.x_scales->as<float>(), operands.weight_scales->as<float>(),
          bias == nullptr ? nullptr : bias->as<const T>(), static_cast<int>(rows),
          static_cast<int>(weight.stored()[0])};
}

template <typename T>
Int8Epilogue<T> int8_epilogue(const LinearForward& op) {
  return {int8_values<T>(op.weight, op.quantized, op.bias, op.x.shape()[0]),
          op.residual == nullptr ? nullptr : op.residual->as<const T>(), op.y.as<T>()};
}

}  // namespace vramfit::gpu
