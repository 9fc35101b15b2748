#pragma once

#include <cstdint>

#include "kernels/cuda/small_batch/stage.cuh"

// A weight as a warp multiplies it: in stages of 16 rows, 64 bytes of each, which it has copied to
// shared memory. One struct a format says what those bytes become on tensor cores. Elements of a
// row may stand in any order there, as long as those of x do: whatever order is cheapest to unpack.
//
// A stage's x is read in pieces, of 16 bytes a lane t of four: `source` says which of a row's
// elements those are, `order` in which order.

namespace vramfit::gpu {

/// Neighbours in memory are neighbours in a register.
struct NaturalOrder {
  static constexpr bool kNatural = true;
  static constexpr int order(int i) { return i; }
};

/// 16 bits: as they are.
template <typename T>
struct PlainStages : NaturalOrder {
  using Input = T;
  using Sums = TensorCoreSums<float>;
  static constexpr int kElements = kRowBytes / 2;
  static constexpr int kWarps = kManyWarps;
  static constexpr bool kScaleWords = false;
  static constexpr int kTableBytes = 0;

  const std::uint8_t* codes;

  __device__ static int source(int /*piece*/, int t) { return 8 * t; }
  __device__ void multiply(auto& sums, const WeightStage& stage, const auto& x) const {
    const Place at;
    const int place = at.chunk(at.t);
    sums.add(stage.read<uint4>(place, false), stage.read<uint4>(place, true), x.piece(0), T{});
  }
};

/// fp32, which tensor cores would round: each lane takes four elements of its two rows with all of
/// x's.
template <>
struct PlainStages<float> : NaturalOrder {
  struct Sums {
    using Sum = float;

    float values[2][kColumns] = {};

    __device__ void store(float* to) const {
      const Place at;
#pragma unroll
      for (int i = 0; i < 2 * kColumns; ++i) {
        const float sum = warp_sum<4>(values[i / kColumns][i % kColumns]);
        if (at.t == i % 4) to[(at.g + i / kColumns * 8) * kColumns + i % kColumns] = sum;
      }
    }
  };
  using Input = float;
  static constexpr int kElements = kRowBytes / 4;
  static constexpr int kWarps = kFewWarps;
  static constexpr bool kScaleWords = false;
  static constexpr int kTableBytes = 0;

  const std::uint8_t* codes;

  __device__ static int source(int /*piece*/, int t) { return 4 * t; }
  __device__ void multiply(auto& sums, const WeightStage& stage, const auto& x) const {
    const Place at;
    const auto low = stage.read<float4>(at.chunk(at.t), false);
    const auto high = stage.read<float4>(at.chunk(at.t), true);
#pragma unroll
    for (int n = 0; n < kColumns; ++n) {
      if (n >= x.rows) break;
      const uint4 words = x.of(n);
      const auto row = reinterpret_cast<const float4&>(words);
      sums.values[0][n] += low.x * row.x + low.y * row.y + low.z * row.z + low.w * row.w;
      sums.values[1][n] += high.x * row.x + high.y * row.y + high.z * row.z + high.w * row.w;
    }
  }
};

/// Rows and weights of int8: sums are of products of codes, and exact.
struct Int8Stages : NaturalOrder {
  using Input = std::int8_t;
  using Sums = TensorCoreSums<int>;
  static constexpr int kElements = kRowBytes;
  static constexpr int kWarps = kFewWarps;
  static constexpr bool kScaleWords = false;
  static constexpr int kTableBytes = 0;

  const std::uint8_t* codes;

  __device__ static int source(int /*piece*/, int t) { return 16 * t; }
  __device__ void multiply(auto& sums, const WeightStage& stage, const auto& x) const {
    const Place at;
    const int place = at.chunk(at.t);
    sums.add(stage.read<uint4>(place, false), stage.read<uint4>(place, true), x.piece(0),
             std::int8_t{});
  }
};

__device__ inline std::uint32_t bits_of(__half2 both) {
  return *reinterpret_cast<const std::uint32_t*>(&both);
}
__device__ inline std::uint32_t bits_of(__nv_bfloat162 both) {
  return *reinterpret_cast<const std::uint32_t*>(&both);
}
__device__ inline __half2 two_of(std::uint32_t bits, __half /*type*/) {
  return *reinterpret_cast<const __half2*>(&bits);
}
__device__ inline __nv_bfloat162 two_of(std::uint32_t bits, __nv_bfloat16 /*type*/) {
  return *reinterpret_cast<const __nv_bfloat162*>(&bits);
}

/// A number whose lowest bits of the mantissa are worth 1, so that small integers are put there by
/// an OR: 1024 in fp16, 128 in bf16.
template <typename T>
inline constexpr std::uint32_t kOnes = std::is_same_v<T, __half> ? 0x64006400U : 0x43004300U;

/// word & mask | T's kOnes, as one instruction: the compiler takes two.
template <typename T>
__device__ std::uint32_t above_ones(std::uint32_t word, std::uint32_t mask) {
  std::uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(result) : "r"(word), "r"(mask), "r"(kOnes<T>));
  return result;
}

/// Two bytes of a word as T's, exactly; `two`: 0 or 1, the lower or the upper.
template <typename T>
__device__ std::uint32_t two_elements(std::uint32_t word, int two, std::int8_t /*type*/) {
  const std::uint32_t bytes = __byte_perm(word, 0, two == 0 ? 0x4140 : 0x4342);
  if constexpr (std::is_same_v<T, __half>) {
    const __half2 plus = two_of(bytes ^ 0x64806480U, T{});  // 1024 + 128 + x
    return bits_of(__hsub2(plus, two_of(0x64806480U, T{})));
  } else {
    // The sign stands where 128 becomes 256: 128 + the rest, less 128 or 256.
    const __nv_bfloat162 rest = two_of(above_ones<T>(bytes, 0x007F007FU), T{});
    return bits_of(__hsub2(rest, two_of(above_ones<T>(bytes, 0x00800080U), T{})));
  }
}

template <typename T>
__device__ std::uint32_t two_elements(std::uint32_t word, int two, __nv_fp8_e4m3 /*type*/) {
  static_assert(std::is_same_v<T, __half>, "fp16 has every value of fp8");
  const auto codes = static_cast<__nv_fp8x2_storage_t>(word >> 16 * two);
  return bits_of(__half2(__nv_cvt_fp8x2_to_halfraw2(codes, __NV_E4M3)));
}

__device__ inline uint4 halves_of(std::uint32_t first, std::uint32_t second) {
  const auto two = [](std::uint32_t word, int half) {
    return two_elements<__half>(word, half, __nv_fp8_e4m3{});
  };
  return {two(first, 0), two(first, 1), two(second, 0), two(second, 1)};
}

/// Rows and weights of fp8, multiplied as fp16, which has every value of theirs.
struct Fp8Stages : NaturalOrder {
  using Input = __nv_fp8_e4m3;
  using Sums = TensorCoreSums<float>;
  static constexpr int kElements = kRowBytes;
  static constexpr int kWarps = kFewWarps;
  static constexpr bool kScaleWords = false;
  static constexpr int kTableBytes = 0;

  const std::uint8_t* codes;

  __device__ static int source(int /*piece*/, int t) { return 16 * t; }
  __device__ void multiply(auto& sums, const WeightStage& stage, const auto& x) const {
    const Place at;
    const int place = at.chunk(at.t);
    const auto low = stage.read<uint4>(place, false);
    const auto high = stage.read<uint4>(place, true);
    const uint4 own = x.piece(0);
    sums.add(halves_of(low.x, low.y), halves_of(high.x, high.y), halves_of(own.x, own.y), __half{});
    sums.add(halves_of(low.z, low.w), halves_of(high.z, high.w), halves_of(own.z, own.w), __half{});
  }
};

/// Weights of 8 bits, multiplied as T.
template <typename T, typename Element>
struct EightBitStages : NaturalOrder {
  using Input = T;
  using Sums = TensorCoreSums<float>;
  static constexpr int kElements = kRowBytes;
  static constexpr int kWarps = kManyWarps;
  static constexpr bool kScaleWords = false;
  static constexpr int kTableBytes = 0;

  const std::uint8_t* codes;

  __device__ static int source(int piece, int t) { return 16 * t + 8 * piece; }
  __device__ void multiply(auto& sums, const WeightStage& stage, const auto& x) const {
    const Place at;
    const int place = at.chunk(at.t);
    const auto low = stage.read<uint4>(place, false);
    const auto high = stage.read<uint4>(place, true);
    sums.add(expanded(low.x, low.y), expanded(high.x, high.y), x.piece(0), T{});
    sums.add(expanded(low.z, low.w), expanded(high.z, high.w), x.piece(1), T{});
  }
  __device__ static uint4 expanded(std::uint32_t first, std::uint32_t second) {
    return {two_elements<T>(first, 0, Element{}), two_elements<T>(first, 1, Element{}),
            two_elements<T>(second, 0, Element{}), two_elements<T>(second, 1, Element{})};
  }
};

/// Those with one row, which has become fp16 before.
struct Fp8RowStages : EightBitStages<__half, __nv_fp8_e4m3> {
  static constexpr int kWarps = kFewWarps;

  explicit Fp8RowStages(const Fp8Stages& stages) { codes = stages.codes; }
};

}  // namespace vramfit::gpu
