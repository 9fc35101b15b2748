#include "kernels/cuda/layers/activation.cuh"
#include "kernels/cuda/quantized/int8_epilogue.cuh"
#include "kernels/cuda/quantized/int8_product.cuh"
#include "kernels/cuda/quantized/quantized_linear.h"

// The product of int8_linear.cu on sm_90, and the one whose activation is computed, from `pre` as
// it is stored, while that is still in registers: a pass of its own would read all of it again.

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kAtOnce = 4 * kQuadGroups;  ///< sums of both rows

template <typename T>
struct Linear {
  Int8Epilogue<T> groups;

  __device__ int2 halves(int column) const { return {column, column + Int8Product::kHalfColumns}; }

  template <int kSums>
  __device__ void write(int row, int column, const int (&sums)[kSums]) const {
#pragma unroll
    for (int i = 0; i < kSums; i += kAtOnce) groups.write(row, column + 2 * i, sums + i);
  }
};

/// Half a tile's columns are gates, the other half what they are multiplied with; GELU has no
/// gates.
template <typename T, ActivationKind kKind>
struct MlpUp {
  static constexpr bool kGated = kKind == ActivationKind::SwiGlu;

  Int8Values<T> values;
  T* pre;
  T* act;
  int width;  ///< of act, a multiple of 8

  __device__ int2 halves(int column) const {
    if constexpr (kGated) return {column / 2, width + column / 2};
    return {column, column + Int8Product::kHalfColumns};
  }

  template <int kSums>
  __device__ void write(int row, int column, const int (&sums)[kSums]) const {
    constexpr int kActivated = kGated ? kSums / 2 : kSums;
    const int first = kGated ? column / 2 : column;
#pragma unroll
    for (int i = 0; i < kActivated; i += kAtOnce) {
      const int* up = sums + i + (kGated ? kActivated : 0);
      write_groups(row, first + 2 * i, sums + i, up);
      write_groups(row + Int8Epilogue<T>::kApart, first + 2 * i, sums + i + 2, up + 2);
    }
  }

 private:
  /// 32 columns of act; `up`: the sums that `gate`'s are multiplied with, of no use without gates.
  __device__ void write_groups(int row, int first, const int* gate, const int* up) const {
    const float scale = values.row_scale(row);
    std::uint32_t gates[kQuadGroups];
    std::uint32_t ups[kQuadGroups];
    std::uint32_t acts[kQuadGroups];
#pragma unroll
    for (int g = 0; g < kQuadGroups; ++g) {
      const int column = first + quad_column(g);
      float2 x = stored(gates[g], values(column, scale, gate + 4 * g));
      if constexpr (kGated) {
        const float2 factor = stored(ups[g], values(width + column, scale, up + 4 * g));
        x = {silu(x.x).value * factor.x, silu(x.y).value * factor.y};
      } else {
        x = {gelu(x.x).value, gelu(x.y).value};
      }
      acts[g] = packed(&x.x, T{});
    }
    const int own = first + 8 * quad_lane();
    const bool there = row < values.rows && own < width;
    T* const to = pre + std::int64_t{row} * values.columns + own;
    transpose_quad(gates);
    if (there) store_group(to, gates);
    if constexpr (kGated) {
      transpose_quad(ups);
      if (there) store_group(to + width, ups);
    }
    transpose_quad(acts);
    if (there) store_group(act + std::int64_t{row} * width + own, acts);
  }

  /// A pair as it is stored, in `word`, and what that is.
  __device__ static float2 stored(std::uint32_t& word, float2 values) {
    word = packed(&values.x, T{});
    unpack(word, &values.x, T{});
    return values;
  }
};

template <ActivationKind kKind>
using Kind = std::integral_constant<ActivationKind, kKind>;

}  // namespace

void launch_int8_warpgroups(const LinearForward& op, cudaStream_t stream) {
  with_element(op.y.format(), [&](auto element) {
    using T = decltype(element);
    launch_int8_product(op.x, op.weight, Linear<T>{int8_epilogue<T>(op)}, stream);
  });
}

bool launch_int8_warpgroups(const MlpUpForward& op, cudaStream_t stream) {
  const std::int64_t width = op.act.shape()[1];
  if (!is_16_bit(op.act.format()) || width % 8 != 0) return false;
  with_element(op.act.format(), [&](auto element) {
    using T = decltype(element);
    const auto launch = [&](auto kind) {
      const MlpUp<T, decltype(kind)::value> epilogue{
          int8_values<T>(op.weight, op.quantized, op.bias, op.x.shape()[0]), op.pre.as<T>(),
          op.act.as<T>(), static_cast<int>(width)};
      launch_int8_product(op.x, op.weight, epilogue, stream);
    };
    if constexpr (sizeof(T) == 2) {
      if (op.kind == ActivationKind::SwiGlu) return launch(Kind<ActivationKind::SwiGlu>{});
      launch(Kind<ActivationKind::Gelu>{});
    }
  });
  return true;
}

}  // namespace vramfit
