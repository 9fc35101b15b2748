#pragma once

#include <cstdint>

#include "kernels/cuda/small_batch/stage.cuh"
#include "model/ops/quantized_layout.h"

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
  /// Whether one row is multiplied by way of the sums of its stages.
  static constexpr bool kSumsStages = false;
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
  template <typename Inputs>
  __device__ void multiply(Sums& sums, const WeightStage& stage, const Inputs& x) const {
    const Place at;
    const int place = at.chunk(at.t);
    sums.add(stage.read<uint4>(place, false), stage.read<uint4>(place, true), x.own(0), T{});
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
  static constexpr int kWarps = kFewWarps;
  static constexpr bool kScaleWords = false;
  static constexpr int kTableBytes = 0;

  const std::uint8_t* codes;

  __device__ static int source(int /*piece*/, int t) { return 4 * t; }
  template <typename Inputs>
  __device__ void multiply(Sums& sums, const WeightStage& stage, const Inputs& x) const {
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
  template <typename Inputs>
  __device__ void multiply(Sums& sums, const WeightStage& stage, const Inputs& x) const {
    const Place at;
    const int place = at.chunk(at.t);
    sums.add(stage.read<uint4>(place, false), stage.read<uint4>(place, true), x.own(0),
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
  template <typename Inputs>
  __device__ void multiply(Sums& sums, const WeightStage& stage, const Inputs& x) const {
    const Place at;
    const int place = at.chunk(at.t);
    const auto low = stage.read<uint4>(place, false);
    const auto high = stage.read<uint4>(place, true);
    const uint4 own = x.own(0);
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
  template <typename Inputs>
  __device__ void multiply(Sums& sums, const WeightStage& stage, const Inputs& x) const {
    const Place at;
    const int place = at.chunk(at.t);
    const auto low = stage.read<uint4>(place, false);
    const auto high = stage.read<uint4>(place, true);
    sums.add(expanded(low.x, low.y), expanded(high.x, high.y), x.own(0), T{});
    sums.add(expanded(low.z, low.w), expanded(high.z, high.w), x.own(1), T{});
  }
  __device__ static uint4 expanded(std::uint32_t first, std::uint32_t second) {
    return {two_elements<T>(first, 0, Element{}), two_elements<T>(first, 1, Element{}),
            two_elements<T>(second, 0, Element{}), two_elements<T>(second, 1, Element{})};
  }
};

/// Where a row's words of scales are, one of the two of each stage: that of the row's block b is
/// words[min(first + b, last) >> shift].
struct ScaleWords {
  const std::uint32_t* words;
  int shift;
  unsigned first;
  unsigned last;

  __device__ const std::uint32_t* of(int block) const {
    return words + (min(first + static_cast<unsigned>(block), last) >> shift);
  }
};

/// What formats of 4 bits have in common: sums over a block are scaled as they are added.
struct FourBitStages {
  using Sums = TensorCoreSums<float, 1>;
  static constexpr int kElements = 2 * kRowBytes;
  static constexpr int kWarps = kManyWarps;
  static constexpr bool kScaleWords = true;

  const std::uint8_t* codes;
  int blocks;  ///< of a row
};

/// Values of blocks of 64, two in a stage, are looked up two at a time, by each lane in a table of
/// its own bank. `kRow`: the format's place in the table.
template <typename T, std::size_t kRow>
struct CodebookStages : FourBitStages, NaturalOrder {
  using Input = T;
  static constexpr int kStageBlocks = 2;
  static constexpr int kTableBytes = 256 * kWarp * 4;

  const float* scales;
  unsigned table = 0;  ///< (256, 32) words in shared memory, of which this is the lane's first

  /// A byte's two values, the earlier of its upper half, for each lane.
  __device__ void fill(std::uint32_t* words) {
    table = shared_address(words + threadIdx.x % kWarp);
    constexpr Codebook kCodebook = kFormats[kRow].codebook;
    for (int byte = static_cast<int>(threadIdx.x); byte < 256;
         byte += static_cast<int>(blockDim.x)) {
      const float both[] = {kCodebook.values[byte >> 4], kCodebook.values[byte & 0xF]};
      const std::uint32_t word = packed(both, T{});
      // Neighbouring threads write to different banks.
#pragma unroll
      for (int i = 0; i < kWarp; ++i) words[byte * kWarp + (byte + i) % kWarp] = word;
    }
  }
  /// The scales of the stage's first half, and of its second.
  __device__ ScaleWords scale_words(unsigned first_block, unsigned half) const {
    return {reinterpret_cast<const std::uint32_t*>(scales), 0, first_block + half,
            first_block + static_cast<unsigned>(blocks) - 1};
  }
  template <typename Inputs>
  __device__ void multiply(Sums& sums, const WeightStage& stage, const Inputs& x) const {
    const uint2 low_scales = stage.words_of(false);
    const uint2 high_scales = stage.words_of(true);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint2 low = codes_of(stage, half, false);
      const uint2 high = codes_of(stage, half, true);
      Sums block;
      block.add(expanded(low.x), expanded(high.x), x.own(2 * half), T{});
      block.add(expanded(low.y), expanded(high.y), x.own(2 * half + 1), T{});
      const float low_scale = __uint_as_float(half == 0 ? low_scales.x : low_scales.y);
      const float high_scale = __uint_as_float(half == 0 ? high_scales.x : high_scales.y);
      sums.values[0][0] += low_scale * block[0];
      sums.values[0][1] += low_scale * block[1];
      sums.values[0][2] += high_scale * block[2];
      sums.values[0][3] += high_scale * block[3];
    }
  }
  /// A lane has 16 elements of a block, two words of codes.
  __device__ static int source(int piece, int t) { return piece / 2 * 64 + 16 * t + piece % 2 * 8; }
  __device__ static uint2 codes_of(const WeightStage& stage, int half, bool high) {
    const Place at;
    return stage.read<uint2>(at.chunk(2 * half + at.t / 2) + 8 * (at.t % 2), high);
  }
  /// Byte `kByte`'s, in three instructions: the compiler would shift, mask and add.
  template <int kByte>
  __device__ std::uint32_t look_up(std::uint32_t word) const {
    std::uint32_t two;
    asm("{\n"
        "  .reg .b32 at;\n"
        "  prmt.b32 at, %1, 0, %2;\n"
        "  mad.lo.u32 at, at, %3, %4;\n"
        "  ld.shared.u32 %0, [at];\n"
        "}"
        : "=r"(two)
        : "r"(word), "n"(0x4440 + kByte), "n"(kWarp * 4), "r"(table));
    return two;
  }
  __device__ uint4 expanded(std::uint32_t word) const {
    return {look_up<0>(word), look_up<1>(word), look_up<2>(word), look_up<3>(word)};
  }
};

/// Whole numbers in blocks of 128, a stage's, less their zero points.
template <typename T>
struct OffsetStages : FourBitStages {
  using Input = T;
  static constexpr int kStageBlocks = 1;
  static constexpr int kTableBytes = 0;
  static constexpr bool kNatural = false;
  static constexpr bool kSumsStages = true;
  /// Codes fall out of a word that is shifted by 0, 4, 8 and 12 bits.
  static constexpr int order(int i) { return i % 2 * 4 + (i / 2 ^ 1); }

  const __half* scales;
  const std::uint8_t* zeros;

  __device__ static int source(int piece, int t) { return 32 * t + 8 * piece; }
  /// The word that the scale is in, and that of the zero point. Scales begin at a whole word, zero
  /// points perhaps in the middle of one.
  __device__ ScaleWords scale_words(unsigned first_block, unsigned which) const {
    const unsigned first = first_block + (which == 0 ? 0 : codes_before_zeros());
    const auto address = which == 0 ? reinterpret_cast<std::uintptr_t>(scales)
                                    : reinterpret_cast<std::uintptr_t>(zeros) / 4 * 4;
    return {reinterpret_cast<const std::uint32_t*>(address), which == 0 ? 1 : 3, first,
            first + static_cast<unsigned>(blocks) - 1};
  }
  /// Of a block, from the word that it is in.
  __device__ static float scale_of(std::uint32_t word, unsigned block) {
    const auto bits = static_cast<unsigned short>(__funnelshift_r(word, 0, 16 * block));
    return to_float(__ushort_as_half(bits));
  }
  /// The zero point above T's kOnes, in the lower half. A byte's upper half is the earlier block's.
  __device__ std::uint32_t zero_of(std::uint32_t word, unsigned block) const {
    const unsigned code = (block + codes_before_zeros()) ^ 1;
    return above_ones<T>(__funnelshift_r(word, 0, 4 * code), 0xF);
  }
  /// Of 4 bits, in the word that the first zero point is in: 0 or 4.
  __device__ unsigned codes_before_zeros() const {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(zeros)) % 4 * 2;
  }
  /// One row's codes are multiplied as they stand above T's kOnes: that and the zero point are
  /// taken from a block's sum by way of x's. In fp16, whose kOnes is eight times bf16's, that is
  /// the less exact where x is of one sign. For many rows those sums take longer than they spare.
  template <typename Inputs>
  __device__ void multiply(Sums& sums, const WeightStage& stage, const Inputs& x) const {
    // A stage beyond the row has the last block's words. Its x is 0, but bits that are no scale
    // could be NaN.
    const int index = min(stage.index, blocks - 1);
    const auto low_block = static_cast<unsigned>(stage.low_row * blocks + index);
    const auto high_block = static_cast<unsigned>(stage.high_row * blocks + index);
    const uint2 low_words = stage.words_of(false);
    const uint2 high_words = stage.words_of(true);
    const std::uint32_t low_zero = zero_of(low_words.y, low_block);
    const std::uint32_t high_zero = zero_of(high_words.y, high_block);
    const Place at;
    const int place = at.chunk(at.t);
    const auto low = stage.read<uint4>(place, false);
    const auto high = stage.read<uint4>(place, true);
    Sums block;
    const auto add = [&](std::uint32_t low_codes, std::uint32_t high_codes, int piece) {
      block.add(expanded<Inputs>(low_codes, low_zero), expanded<Inputs>(high_codes, high_zero),
                x.own(piece), T{});
    };
    add(low.x, high.x, 0);
    add(low.y, high.y, 1);
    add(low.z, high.z, 2);
    add(low.w, high.w, 3);
    const auto add_scaled = [&](int first, float scale, std::uint32_t zero) {
      float offset = 0;
      if constexpr (Inputs::kSums) offset = to_float(two_of(zero, T{}).x) * x.sum;
      sums.values[0][first] += scale * (block[first] - offset);
      sums.values[0][first + 1] += scale * (block[first + 1] - offset);
    };
    add_scaled(0, scale_of(low_words.x, low_block), low_zero);
    add_scaled(2, scale_of(high_words.x, high_block), high_zero);
  }
  template <typename Inputs>
  __device__ static uint4 expanded(std::uint32_t word, std::uint32_t zero) {
    const std::uint32_t two_zeros = __byte_perm(zero, 0, 0x1010);
    const auto two = [&](std::uint32_t codes) {
      const std::uint32_t above = above_ones<T>(codes, 0x000F000FU);
      return Inputs::kSums ? above : bits_of(__hsub2(two_of(above, T{}), two_of(two_zeros, T{})));
    };
    return {two(word), two(word >> 4), two(word >> 8), two(word >> 12)};
  }
};

}  // namespace vramfit::gpu
