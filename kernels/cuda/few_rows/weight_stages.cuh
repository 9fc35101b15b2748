#pragma once

#include <cstdint>

#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/tensor_core.cuh"
#include "model/ops/quantized_layout.h"

// A weight as a warp multiplies it: in stages of 16 rows, 64 bytes of each, which it has copied to
// shared memory. One struct a format says what those bytes become on tensor cores. Elements of a
// row may stand in any order there, as long as those of x do: whatever order is cheapest to unpack.
//
// A stage's x is read in pieces, of 16 bytes a lane t of four: `source` says which of a row's
// elements those are, `order` in which order.

namespace vramfit::gpu {

inline constexpr int kTileRows = 16;
inline constexpr int kRowBytes = 64;
inline constexpr int kTileBytes = kTileRows * kRowBytes;
/// Columns of a tensor core's product: rows of x that are multiplied at once.
inline constexpr int kColumns = 8;

/// A lane's place in a tensor core's product, see tensor_core.cuh.
struct Place {
  int g = static_cast<int>(threadIdx.x) % kWarp / 4;
  int t = static_cast<int>(threadIdx.x) % 4;
};

/// What a stage has in shared memory, and whose it is.
struct WeightStage {
  const std::uint8_t* codes;    ///< (16, 64)
  const std::uint32_t* scales;  ///< 4 bits: a word of each lane's copying
  int index;                    ///< of the row's stages
  std::int64_t rows[2];         ///< of the weight: those that are g and g + 8 here

  template <typename Vector>
  __device__ Vector read(int row, int byte) const {
    return *reinterpret_cast<const Vector*>(codes + row * kRowBytes + byte);
  }
};

template <typename Sum>
struct TensorCoreSums {
  Sum values[4] = {};

  __device__ void add(const uint4& low, const uint4& high, const uint4& x, auto type) {
    multiply_add(values, {low.x, high.x, low.y, high.y}, x.x, x.y, type);
    multiply_add(values, {low.z, high.z, low.w, high.w}, x.z, x.w, type);
  }
  /// The product of the tile's row with x's row `column`, where the lane has it.
  __device__ void store(Sum* to) const {
    const Place at;
    Sum* low = to + at.g * kColumns + 2 * at.t;
    Sum* high = low + 8 * kColumns;
    low[0] = values[0];
    low[1] = values[1];
    high[0] = values[2];
    high[1] = values[3];
  }
};

/// Neighbours in memory are neighbours in a register.
struct NaturalOrder {
  static constexpr int order(int i) { return i; }
};

/// 16 bits: as they are.
template <typename T>
struct PlainStages : NaturalOrder {
  using Input = T;
  using Sums = TensorCoreSums<float>;
  static constexpr int kElements = kRowBytes / 2;
  static constexpr bool kScaleWords = false;
  static constexpr int kTableBytes = 0;

  const std::uint8_t* codes;

  __device__ static int source(int /*piece*/, int t) { return 8 * t; }
  template <typename Inputs>
  __device__ void multiply(Sums& sums, const WeightStage& stage, const Inputs& x) const {
    const Place at;
    sums.add(stage.read<uint4>(at.g, 16 * at.t), stage.read<uint4>(at.g + 8, 16 * at.t), x(at.g, 0),
             T{});
  }
};

/// fp32, which tensor cores would round: each lane takes four elements of its two rows with all of
/// x's.
template <>
struct PlainStages<float> : NaturalOrder {
  struct Sums {
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
  static constexpr bool kScaleWords = false;
  static constexpr int kTableBytes = 0;

  const std::uint8_t* codes;

  __device__ static int source(int /*piece*/, int t) { return 4 * t; }
  template <typename Inputs>
  __device__ void multiply(Sums& sums, const WeightStage& stage, const Inputs& x) const {
    const Place at;
    const auto low = stage.read<float4>(at.g, 16 * at.t);
    const auto high = stage.read<float4>(at.g + 8, 16 * at.t);
#pragma unroll
    for (int n = 0; n < kColumns; ++n) {
      if (n >= x.rows) break;
      const uint4 words = x(n, 0);
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
  static constexpr bool kScaleWords = false;
  static constexpr int kTableBytes = 0;

  const std::uint8_t* codes;

  __device__ static int source(int /*piece*/, int t) { return 16 * t; }
  template <typename Inputs>
  __device__ void multiply(Sums& sums, const WeightStage& stage, const Inputs& x) const {
    const Place at;
    sums.add(stage.read<uint4>(at.g, 16 * at.t), stage.read<uint4>(at.g + 8, 16 * at.t), x(at.g, 0),
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

/// Two bytes of a word as T's, exactly; `two`: 0 or 1, the lower or the upper.
template <typename T>
__device__ std::uint32_t two_elements(std::uint32_t word, int two, std::int8_t /*type*/) {
  const std::uint32_t bytes = __byte_perm(word, 0, two == 0 ? 0x4140 : 0x4342);
  if constexpr (std::is_same_v<T, __half>) {
    const __half2 plus = two_of(bytes ^ 0x64806480U, T{});  // 1024 + 128 + x
    return bits_of(__hsub2(plus, two_of(0x64806480U, T{})));
  } else {
    // The sign stands where 128 becomes 256: 128 + the rest, less 128 or 256.
    const __nv_bfloat162 rest = two_of((bytes & 0x007F007FU) | kOnes<T>, T{});
    return bits_of(__hsub2(rest, two_of((bytes & 0x00800080U) | kOnes<T>, T{})));
  }
}

template <typename T>
__device__ std::uint32_t two_elements(std::uint32_t word, int two, __nv_fp8_e4m3 /*type*/) {
  static_assert(std::is_same_v<T, __half>, "fp16 has every value of fp8");
  const auto codes = static_cast<__nv_fp8x2_storage_t>(word >> 16 * two);
  return bits_of(__half2(__nv_cvt_fp8x2_to_halfraw2(codes, __NV_E4M3)));
}

/// Weights of 8 bits, multiplied as T.
template <typename T, typename Element>
struct EightBitStages : NaturalOrder {
  using Input = T;
  using Sums = TensorCoreSums<float>;
  static constexpr int kElements = kRowBytes;
  static constexpr bool kScaleWords = false;
  static constexpr int kTableBytes = 0;

  const std::uint8_t* codes;

  __device__ static int source(int piece, int t) { return 16 * t + 8 * piece; }
  template <typename Inputs>
  __device__ void multiply(Sums& sums, const WeightStage& stage, const Inputs& x) const {
    const Place at;
#pragma unroll
    for (int piece = 0; piece < 2; ++piece) {
      const auto low = stage.read<uint2>(at.g, 16 * at.t + 8 * piece);
      const auto high = stage.read<uint2>(at.g + 8, 16 * at.t + 8 * piece);
      sums.add(expanded(low), expanded(high), x(at.g, piece), T{});
    }
  }
  __device__ static uint4 expanded(const uint2& words) {
    return {two_elements<T>(words.x, 0, Element{}), two_elements<T>(words.x, 1, Element{}),
            two_elements<T>(words.y, 0, Element{}), two_elements<T>(words.y, 1, Element{})};
  }
};

/// What formats of 4 bits have in common: a stage has two halves of 64 elements, in each of which a
/// lane has 16, two words of codes. Sums over a block are scaled as they are added.
struct FourBitStages {
  using Sums = TensorCoreSums<float>;
  static constexpr int kElements = 2 * kRowBytes;
  static constexpr bool kScaleWords = true;

  const std::uint8_t* codes;
  int blocks;  ///< of a row

  __device__ static int source(int piece, int t) { return piece / 2 * 64 + 16 * t + piece % 2 * 8; }
  __device__ static std::uint32_t word_of(const WeightStage& stage, int row, int piece) {
    return stage.read<std::uint32_t>(
        row, piece / 2 * 32 + 8 * (static_cast<int>(threadIdx.x) % 4) + piece % 2 * 4);
  }
  /// A row's block in a stage; what is beyond the row is multiplied by zeros.
  __device__ std::int64_t block_of(std::int64_t row, int block) const {
    return row * blocks + min(block, blocks - 1);
  }
  __device__ static void add_scaled(Sums& sums, const Sums& more, float low, float high) {
    sums.values[0] += low * more.values[0];
    sums.values[1] += low * more.values[1];
    sums.values[2] += high * more.values[2];
    sums.values[3] += high * more.values[3];
  }
};

/// nf4's codes are looked up two at a time, by each lane in a table of its own bank.
template <typename T>
struct Nf4Stages : FourBitStages, NaturalOrder {
  using Input = T;
  static constexpr int kTableBytes = 256 * kWarp * 4;

  const float* scales;
  const std::uint32_t* table = nullptr;  ///< (256, 32), in shared memory

  /// The earlier of two has a byte's upper half.
  __device__ static void fill(std::uint32_t* table) {
    for (int i = static_cast<int>(threadIdx.x); i < 256 * kWarp;
         i += static_cast<int>(blockDim.x)) {
      const int byte = i / kWarp;
      const float both[] = {nf4_value(byte >> 4), nf4_value(byte & 0xF)};
      table[i] = packed(both, T{});
    }
  }
  /// Lane 2r + h copies the scale of half h of row r.
  __device__ const void* scale_word(std::int64_t row, int stage, int which) const {
    return scales + block_of(row, 2 * stage + which);
  }
  template <typename Inputs>
  __device__ void multiply(Sums& sums, const WeightStage& stage, const Inputs& x) const {
    const Place at;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Sums block;
#pragma unroll
      for (int piece = 2 * half; piece < 2 * half + 2; ++piece) {
        block.add(expanded(word_of(stage, at.g, piece)), expanded(word_of(stage, at.g + 8, piece)),
                  x(at.g, piece), T{});
      }
      add_scaled(sums, block, __uint_as_float(stage.scales[2 * at.g + half]),
                 __uint_as_float(stage.scales[2 * (at.g + 8) + half]));
    }
  }
  __device__ uint4 expanded(std::uint32_t word) const {
    const std::uint32_t* own = table + threadIdx.x % kWarp;
    return {own[(word & 0xFF) * kWarp], own[(word >> 8 & 0xFF) * kWarp],
            own[(word >> 16 & 0xFF) * kWarp], own[(word >> 24) * kWarp]};
  }
};

template <typename T>
struct Int4Stages : FourBitStages {
  using Input = T;
  static constexpr int kTableBytes = 0;
  /// Codes fall out of a word that is shifted by 0, 4, 8 and 12 bits.
  static constexpr int order(int i) { return i % 2 * 4 + (i / 2 ^ 1); }

  const __half* scales;
  const std::uint8_t* zeros;

  /// Lane 2r copies the four bytes that row r's scale is in, lane 2r + 1 those of its zero point.
  __device__ const void* scale_word(std::int64_t row, int stage, int which) const {
    const std::int64_t block = block_of(row, stage);
    const auto at = which == 0 ? reinterpret_cast<std::uintptr_t>(scales + block)
                               : reinterpret_cast<std::uintptr_t>(zeros + block / 2);
    return reinterpret_cast<const void*>(at / 4 * 4);
  }
  __device__ float scale(const WeightStage& stage, int row, std::int64_t block) const {
    const auto at = reinterpret_cast<std::uintptr_t>(scales + block);
    const std::uint32_t word = stage.scales[2 * row] >> 8 * (at % 4);
    return to_float(__ushort_as_half(static_cast<unsigned short>(word & 0xFFFF)));
  }
  /// The block's zero point as an integer above T's kOnes, twice.
  __device__ std::uint32_t zero(const WeightStage& stage, int row, std::int64_t block) const {
    const auto at = reinterpret_cast<std::uintptr_t>(zeros + block / 2);
    const std::uint32_t byte = stage.scales[2 * row + 1] >> 8 * (at % 4);
    const std::uint32_t code = byte >> (block % 2 == 0 ? 4 : 0) & 0xF;
    return kOnes<T> | code << 16 | code;
  }
  template <typename Inputs>
  __device__ void multiply(Sums& sums, const WeightStage& stage, const Inputs& x) const {
    const Place at;
    const std::int64_t low = block_of(stage.rows[0], stage.index);
    const std::int64_t high = block_of(stage.rows[1], stage.index);
    const std::uint32_t low_zero = zero(stage, at.g, low);
    const std::uint32_t high_zero = zero(stage, at.g + 8, high);
    Sums block;
#pragma unroll
    for (int piece = 0; piece < 4; ++piece) {
      block.add(expanded(word_of(stage, at.g, piece), low_zero),
                expanded(word_of(stage, at.g + 8, piece), high_zero), x(at.g, piece), T{});
    }
    add_scaled(sums, block, scale(stage, at.g, low), scale(stage, at.g + 8, high));
  }
  __device__ static uint4 expanded(std::uint32_t word, std::uint32_t zero) {
    return {two(word, zero), two(word >> 4, zero), two(word >> 8, zero), two(word >> 12, zero)};
  }
  __device__ static std::uint32_t two(std::uint32_t word, std::uint32_t zero) {
    const std::uint32_t codes = (word & 0x000F000FU) | kOnes<T>;
    return bits_of(__hsub2(two_of(codes, T{}), two_of(zero, T{})));
  }
};

}  // namespace vramfit::gpu
