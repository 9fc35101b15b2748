#pragma once

#include <cstdint>

#include "kernels/cuda/small_batch/four_bit_stages.cuh"

// One row of x as whole numbers of four digits each, for a weight whose codes are whole numbers as
// well: tensor cores multiply bytes, of which codes of 4 bits become two words in three
// instructions, and the columns that one row leaves idle have its digits.

namespace vramfit::gpu {

/// What a row is encoded to, where others name a code.
struct Digits {};

/// Where the point of a row's whole numbers is, which have 30 bits and a sign. Elements of 16 bits
/// are exact if at least 2^-19 of the row's largest; smaller ones are rounded to 2^-30 of it.
struct FixedPoint {
  float ones;   ///< 1 / scale
  float scale;  ///< what 1 stands for, a power of two; NaN where the row is not finite

  /// `largest`: of the row's magnitudes, as bits.
  __device__ explicit FixedPoint(unsigned largest) {
    constexpr unsigned kInfinite = 255;
    const unsigned exponent = max(largest >> 23, 30U);
    ones = __uint_as_float((283 - exponent) << 23);
    scale = __uint_as_float(exponent == kInfinite ? ~0U : (exponent - 29) << 23);
  }
};

/// The row in shared memory: of each whole number d3 · 256³ + d2 · 256² + d1 · 256 + d0 with digits
/// of -128 to 127, the digits in planes, d3's first. After them each stage's two sums: of
/// d3 · 256 + d2, and of d1 · 256 + d0. A slot is 8 elements, a word of a weight's codes.
class DigitRow {
 public:
  /// Of that many slots, whole stages.
  __host__ __device__ static constexpr int bytes(int slots) {
    return 4 * plane_bytes(slots) + slots / kStage * 8;
  }

  __device__ DigitRow(std::uint8_t* row, int slots) : row_(row), slots_(slots) {}

  /// Whole warps put neighbouring slots.
  __device__ void put(int slot, const Floats<8>& elements) const {
    std::uint32_t digits[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      // A digit above 127 is one below 0 of the next.
      constexpr std::uint32_t kHalf = 0x00808080;
      digits[i] = (static_cast<std::uint32_t>(__float2int_rn(elements[i])) + kHalf) ^ kHalf;
    }
    // The lower half of a byte of codes is the later element's.
    uint2 planes[4];
    transpose(digits[1], digits[3], digits[5], digits[7],
              [&](int digit, std::uint32_t word) { planes[3 - digit].x = word; });
    transpose(digits[0], digits[2], digits[4], digits[6],
              [&](int digit, std::uint32_t word) { planes[3 - digit].y = word; });
    int pairs[2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      *reinterpret_cast<uint2*>(row_ + i * plane_bytes(slots_) + 8 * slot) = planes[i];
      const int sum = byte_sum(planes[i].x, byte_sum(planes[i].y, 0));
      pairs[i / 2] = i % 2 == 0 ? 256 * sum : pairs[i / 2] + sum;
    }
    put_sums(slot, pairs);
  }

  /// A stage's digits and sums, of the column and the columns of the sums that a lane has.
  struct Stage {
    const std::uint8_t* digits;
    int sum;

    /// Of two slots: of either the later elements of its pairs, then the earlier.
    __device__ uint4 own(int piece) const {
      return *reinterpret_cast<const uint4*>(digits + 16 * piece);
    }
  };
  __device__ Stage stage(int index) const {
    const Place at;
    return {row_ + at.g % 4 * plane_bytes(slots_) + 8 * (kStage * index + 4 * at.t),
            sums()[2 * index + at.t % 2]};
  }

 private:
  static constexpr int kStage = 16;

  /// Neighbouring planes are in different banks.
  __host__ __device__ static constexpr int plane_bytes(int slots) { return 8 * slots + 16; }
  __device__ int* sums() const { return reinterpret_cast<int*>(row_ + 4 * plane_bytes(slots_)); }

  /// Calls `put` with each digit of four numbers.
  template <typename Put>
  __device__ static void transpose(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                   std::uint32_t d, const Put& put) {
    const std::uint32_t low_ab = __byte_perm(a, b, 0x5140);
    const std::uint32_t low_cd = __byte_perm(c, d, 0x5140);
    const std::uint32_t high_ab = __byte_perm(a, b, 0x7362);
    const std::uint32_t high_cd = __byte_perm(c, d, 0x7362);
    put(0, __byte_perm(low_ab, low_cd, 0x5410));
    put(1, __byte_perm(low_ab, low_cd, 0x7632));
    put(2, __byte_perm(high_ab, high_cd, 0x5410));
    put(3, __byte_perm(high_ab, high_cd, 0x7632));
  }
  __device__ static int byte_sum(std::uint32_t word, int sum) {
    return __dp4a(static_cast<int>(word), 0x01010101, sum);
  }
  /// A stage's lanes add up: those of even place the first sum, the others the second.
  __device__ void put_sums(int slot, const int (&pairs)[2]) const {
    const bool odd = slot % 2 != 0;
    const int other = odd ? pairs[0] : pairs[1];
    int sum = (odd ? pairs[1] : pairs[0]) + __shfl_xor_sync(kWholeWarp, other, 1);
#pragma unroll
    for (int mask = 2; mask < kStage; mask *= 2) sum += __shfl_xor_sync(kWholeWarp, sum, mask);
    if (slot % kStage < 2) sums()[slot / kStage * 2 + odd] = sum;
  }

  std::uint8_t* row_;
  int slots_;
};

/// Sums of one row, of lanes of even t those of its upper two digits, of others of its lower two.
struct DigitSums {
  using Sum = float;

  float low = 0;   ///< of row g of the weight
  float high = 0;  ///< and of g + 8

  /// What lanes of t = 0 return is of all digits.
  __device__ float of_first(bool of_high) const {
    const float sum = of_high ? high : low;
    return fmaf(sum, 65536.0F, __shfl_down_sync(kWholeWarp, sum, 1));
  }
};

/// Codes as they are; a block's zero point is taken from its sum by way of the digits'.
template <typename T>
struct DigitStages : OffsetBlocks {
  using Input = T;
  using Sums = DigitSums;

  explicit DigitStages(const OffsetStages<T>& stages) : OffsetBlocks(stages) {}

  __device__ static int source(int piece, int t) { return 32 * piece + 8 * t; }
  __device__ void multiply(Sums& sums, const WeightStage& stage, const DigitRow::Stage& x) const {
    const Place at;
    const int place = at.chunk(at.t);
    const auto low = stage.read<uint4>(place, false);
    const auto high = stage.read<uint4>(place, true);
    const uint4 first = x.own(0);
    const uint4 second = x.own(1);
    int block[4] = {};
    const auto add = [&](std::uint32_t low_codes, std::uint32_t high_codes, std::uint32_t later,
                         std::uint32_t earlier) {
      constexpr std::uint32_t kLower = 0x0F0F0F0F;
      multiply_add(block,
                   {low_codes & kLower, high_codes & kLower, low_codes >> 4 & kLower,
                    high_codes >> 4 & kLower},
                   later, earlier, std::int8_t{});
    };
    add(low.x, high.x, first.x, first.y);
    add(low.y, high.y, first.z, first.w);
    add(low.z, high.z, second.x, second.y);
    add(low.w, high.w, second.z, second.w);
    const auto scaled = [&](const int(&pair)[2], const Scale& scale) {
      const int whole = 256 * pair[0] + pair[1] - static_cast<int>(scale.zero) * x.sum;
      return scale.scale * static_cast<float>(whole);
    };
    sums.low += scaled({block[0], block[1]}, scale_of(stage, false));
    sums.high += scaled({block[2], block[3]}, scale_of(stage, true));
  }
};

}  // namespace vramfit::gpu
