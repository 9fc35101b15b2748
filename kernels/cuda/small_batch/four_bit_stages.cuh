#pragma once

#include <cstdint>

#include "kernels/cuda/small_batch/weight_stages.cuh"
#include "model/ops/quantized_layout.h"

// Weights of 4 bits, as weight_stages.cuh has the others: codes in blocks, each with a scale.

namespace vramfit::gpu {

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
  template <typename AnySums>
  __device__ void multiply(AnySums& sums, const WeightStage& stage, const auto& x) const {
    const uint2 low_scales = stage.words_of(false);
    const uint2 high_scales = stage.words_of(true);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint2 low = codes_of(stage, half, false);
      const uint2 high = codes_of(stage, half, true);
      typename AnySums::Block block;
      block.add(expanded(low.x), expanded(high.x), x.piece(2 * half), T{});
      block.add(expanded(low.y), expanded(high.y), x.piece(2 * half + 1), T{});
      sums.add_scaled(block, __uint_as_float(half == 0 ? low_scales.x : low_scales.y),
                      __uint_as_float(half == 0 ? high_scales.x : high_scales.y));
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
struct OffsetBlocks : FourBitStages {
  static constexpr int kStageBlocks = 1;
  static constexpr int kTableBytes = 0;

  /// A block's.
  struct Scale {
    float scale;
    unsigned zero;
  };

  const __half* scales;
  const std::uint8_t* zeros;

  /// The word that the scale is in, and that of the zero point. Scales begin at a whole word, zero
  /// points perhaps in the middle of one.
  __device__ ScaleWords scale_words(unsigned first_block, unsigned which) const {
    const unsigned first = first_block + (which == 0 ? 0 : codes_before_zeros());
    const auto address = which == 0 ? reinterpret_cast<std::uintptr_t>(scales)
                                    : reinterpret_cast<std::uintptr_t>(zeros) / 4 * 4;
    return {reinterpret_cast<const std::uint32_t*>(address), which == 0 ? 1 : 3, first,
            first + static_cast<unsigned>(blocks) - 1};
  }
  /// Of the stage's row g, or of g + 8. A stage beyond the row has the last block's: its x is 0,
  /// but bits that are no scale could be NaN.
  __device__ Scale scale_of(const WeightStage& stage, bool high) const {
    const int row = high ? stage.high_row : stage.low_row;
    const auto block = static_cast<unsigned>(row * blocks + min(stage.index, blocks - 1));
    const uint2 words = stage.words_of(high);
    const auto bits = static_cast<unsigned short>(__funnelshift_r(words.x, 0, 16 * block));
    // A byte's upper half is the earlier block's.
    const unsigned code = (block + codes_before_zeros()) ^ 1;
    return {to_float(__ushort_as_half(bits)), __funnelshift_r(words.y, 0, 4 * code) & 0xF};
  }

 private:
  /// Of 4 bits, in the word that the first zero point is in: 0 or 4.
  __device__ unsigned codes_before_zeros() const {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(zeros)) % 4 * 2;
  }
};

/// Those, multiplied as T.
template <typename T>
struct OffsetStages : OffsetBlocks {
  using Input = T;
  static constexpr bool kNatural = false;
  /// Codes fall out of a word that is shifted by 0, 4, 8 and 12 bits.
  static constexpr int order(int i) { return i % 2 * 4 + (i / 2 ^ 1); }

  __device__ static int source(int piece, int t) { return 32 * t + 8 * piece; }
  template <typename AnySums>
  __device__ void multiply(AnySums& sums, const WeightStage& stage, const auto& x) const {
    const Scale low_scale = scale_of(stage, false);
    const Scale high_scale = scale_of(stage, true);
    const std::uint32_t low_zeros = two_zeros(low_scale.zero);
    const std::uint32_t high_zeros = two_zeros(high_scale.zero);
    const Place at;
    const int place = at.chunk(at.t);
    const auto low = stage.read<uint4>(place, false);
    const auto high = stage.read<uint4>(place, true);
    typename AnySums::Block block;
    const auto add = [&](std::uint32_t low_codes, std::uint32_t high_codes, int piece) {
      block.add(expanded(low_codes, low_zeros), expanded(high_codes, high_zeros), x.piece(piece),
                T{});
    };
    add(low.x, high.x, 0);
    add(low.y, high.y, 1);
    add(low.z, high.z, 2);
    add(low.w, high.w, 3);
    sums.add_scaled(block, low_scale.scale, high_scale.scale);
  }

 private:
  /// Twice, above T's kOnes.
  __device__ static std::uint32_t two_zeros(unsigned zero) {
    return __byte_perm(above_ones<T>(zero, 0xF), 0, 0x1010);
  }
  __device__ static uint4 expanded(std::uint32_t word, std::uint32_t zeros) {
    const auto two = [&](std::uint32_t codes) {
      const std::uint32_t above = above_ones<T>(codes, 0x000F000FU);
      return bits_of(__hsub2(two_of(above, T{}), two_of(zeros, T{})));
    };
    return {two(word), two(word >> 4), two(word >> 8), two(word >> 12)};
  }
};

}  // namespace vramfit::gpu
