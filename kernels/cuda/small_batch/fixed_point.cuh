#pragma once

#include "kernels/cuda/small_batch/weight_stages.cuh"

// Whole numbers of 4 bits with one row of x, which takes one of a tensor core's eight columns where
// it is of 16 bits. As a whole number of its row's scale, to 2^-27 of the row's largest, an element
// has four signed digits of base 256, each of which has a column of its own: then codes are
// multiplied as they stand in memory, after an AND. What stands in a byte's upper half counts 16
// times, so that its elements of x are in units of 16 scales. Products are summed exactly over a
// block; a zero point is taken off as so many times the block's digits.

namespace vramfit::gpu {

/// An element's digits, the lowest first. A stage's stand as its lanes want them: (2 pairs of
/// words, 4 digits, 4 lanes t, 2 words, the lower halves' and the upper halves' 4 bytes); behind
/// all stages are, for each, the sums of its digits, weighted as codes are, with the sign turned.
struct FixedPoint {
  std::uint8_t digits[4];
};
inline constexpr int kDigits = sizeof(FixedPoint);
inline constexpr int kDigitSumsBytes = 4 * kDigits;

/// A power of two, by which the largest magnitude becomes less than 2^30; what is no number stays.
__device__ inline float fixed_point_scale(float largest) {
  const int exponent = __float_as_int(largest) >> 23;
  return exponent == 0xFF ? NAN : __int_as_float(max(exponent - 29, 1) << 23);
}

/// Byte `i` of four words.
__device__ inline std::uint32_t bytes_of(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                         std::uint32_t d, unsigned i) {
  const unsigned two = i | (4 + i) << 4;
  return __byte_perm(__byte_perm(a, b, two), __byte_perm(c, d, two), 0x5410);
}

/// Eight elements in units of the scale, those of a lane's word of codes, to their place in a row
/// of so many stages. Half a warp has a stage's.
__device__ inline void put_digits(std::uint8_t* row, int stages, int slot,
                                  const Floats<8>& values) {
  constexpr std::uint32_t kBytes = 0x80808080U;
  constexpr int kOnesOfBytes = 0x01010101;
  std::uint32_t elements[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int units = __float2int_rn(values[i] * 0.0625F) * (i % 2 == 0 ? 1 : 16);
    // Bytes that begin at -128 have no borrow.
    elements[i] = (static_cast<std::uint32_t>(units) + kBytes) ^ kBytes;
  }
  const int stage = slot / 16;
  const int word = slot / 4 % 4;
  std::uint8_t* to = row + stage * 128 * kDigits + word / 2 * 256 + slot % 4 * 16 + word % 2 * 8;
  int sums[kDigits];
#pragma unroll
  for (unsigned digit = 0; digit < kDigits; ++digit) {
    const std::uint32_t lower = bytes_of(elements[1], elements[3], elements[5], elements[7], digit);
    const std::uint32_t upper = bytes_of(elements[0], elements[2], elements[4], elements[6], digit);
    *reinterpret_cast<uint2*>(to + digit * 64) = {lower, upper};
    int sum = -__dp4a(static_cast<int>(lower), kOnesOfBytes, 0) -
              16 * __dp4a(static_cast<int>(upper), kOnesOfBytes, 0);
#pragma unroll
    for (int mask = 8; mask > 0; mask /= 2) {
      sum += __shfl_xor_sync(0xFFFFU << (threadIdx.x & 16U), sum, mask);
    }
    sums[digit] = sum;
  }
  if (threadIdx.x % 16 > 0) return;
  *reinterpret_cast<int4*>(row + stages * 128 * kDigits + stage * kDigitSumsBytes) = {
      sums[0], sums[1], sums[2], sums[3]};
}

/// Blocks of 128, of which a row has an even number: two stages share the words of their scales and
/// zero points.
struct FixedPointStages : FourBitStages {
  using Input = FixedPoint;
  static constexpr int kTableBytes = 0;
  static constexpr int kScaleStages = 2;

  /// Of rows g and g + 8, two digits each.
  struct Sums {
    using Sum = float;
    float values[2][2] = {};

    /// Of the digits together.
    __device__ RowSums<float> first_column() const {
      const float unit = threadIdx.x % 2 == 0 ? 1.0F : 65536.0F;
      const auto all = [unit](const float(&two)[2]) {
        const float sum = (two[0] + 256.0F * two[1]) * unit;
        return sum + __shfl_xor_sync(kWholeWarp, sum, 1);
      };
      return {all(values[0]), all(values[1])};
    }
  };

  const __half* scales;
  const std::uint8_t* zeros;

  __device__ static int source(int piece, int t) { return 32 * t + 8 * piece; }
  /// Lane 2r copies the two scales of row r, lane 2r + 1 the four bytes that its zero points are
  /// in.
  __device__ const void* scale_word(std::int64_t first_block, int stage, int which) const {
    const std::int64_t at = first_block + stage;
    const auto* two = reinterpret_cast<const std::uint8_t*>(scales + at);
    return which == 0 ? two : zeros + at / 8 * 4;
  }

  template <typename Inputs>
  __device__ void multiply(Sums& sums, const WeightStage& stage, const Inputs& x) const {
    const Place at;
    const auto low = stage.read<uint4>(at.chunk(at.t), false);
    const auto high = stage.read<uint4>(at.chunk(at.t), true);
    const uint4 first = x.own(at.g % kDigits);
    const uint4 second = x.own(kDigits + at.g % kDigits);
    const int2 digits = x.digit_sums[at.t % 2];
    const Block low_block(stage, at.g, stage.low_block);
    const Block high_block(stage, at.g + 8, stage.high_block);
    int products[4] = {kWhole + low_block.zero * digits.x, kWhole + low_block.zero * digits.y,
                       kWhole + high_block.zero * digits.x, kWhole + high_block.zero * digits.y};
    add(products, low.x, high.x, first.x, first.y);
    add(products, low.y, high.y, first.z, first.w);
    add(products, low.z, high.z, second.x, second.y);
    add(products, low.w, high.w, second.z, second.w);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float product = __int_as_float(products[i]) - __int_as_float(kWhole);
      sums.values[i / 2][i % 2] += (i < 2 ? low_block.scale : high_block.scale) * product;
    }
  }

 private:
  /// The bits of 1.5 · 2^23: a whole number of less than 2^22 on top of them, positive or negative,
  /// is on top of that as a float. Over a block products are less than 64 · 15 · (1 + 16) · 128.
  static constexpr int kWhole = 0x4B400000;

  struct Block {
    float scale;
    int zero;

    /// `first`: the row's first block.
    __device__ Block(const WeightStage& stage, int row, unsigned first) {
      const auto words = reinterpret_cast<const uint2*>(stage.scales)[row];
      const auto two = reinterpret_cast<const __half2&>(words.x);
      const bool second = stage.in_step % 2 > 0;
      scale = second ? __high2float(two) : __low2float(two);
      const unsigned byte = 4 * (first + static_cast<unsigned>(stage.index)) & 24U;
      zero = static_cast<int>(words.y >> byte >> (second ? 0 : 4) & 0xFU);
    }
  };

  __device__ static void add(int (&products)[4], std::uint32_t low, std::uint32_t high,
                             std::uint32_t lower, std::uint32_t upper) {
    constexpr std::uint32_t kLower = 0x0F0F0F0FU;
    multiply_add(products, {low & kLower, high & kLower, low & ~kLower, high & ~kLower}, lower,
                 upper, std::uint8_t{});
  }
};

}  // namespace vramfit::gpu
