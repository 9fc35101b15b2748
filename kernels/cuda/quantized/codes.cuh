#pragma once

#include <cstdint>

#include "kernels/cuda/base/dispatch.cuh"
#include "model/ops/quantized_layout.h"

// Quantised weights as they are read back element by element: eight codes at a time, 16 bytes of
// what is written in 16 bits, and what those are to be multiplied by (small_batch/weight_stages.cuh
// has them for tensor cores). Codebooks are looked up in a block's `Table` in shared memory.

namespace vramfit::gpu {

/// The byte of `word` that stands `i`th in memory.
__device__ inline std::uint32_t byte_of(std::uint32_t word, int i) { return word >> 8 * i & 0xFF; }

/// Two to a byte: the earlier one has its upper half.
__device__ inline std::uint32_t nibble_of(std::uint32_t byte, std::int64_t i) {
  return byte >> (i % 2 == 0 ? 4 : 0) & 0xF;
}

/// Of a format, by its place in the table. A pack's codes are of one row or block, whose scale
/// scale() is; 1 where rows have one, beside the tensor.
template <std::size_t kRow>
struct Codes {
  static constexpr Codec kCodec = kFormats[kRow].codec;
  static constexpr int kBits = kFormats[kRow].bits;
  static constexpr int kCodes = 8;
  static constexpr int kBlock = kFormats[kRow].block;
  static constexpr bool kRowScales = kFormats[kRow].scales == Scales::Row;
  static_assert(kRowScales || kBlock % kCodes == 0);
  using Element = typename GpuCode<kFormats[kRow].element>::Type;
  using Scale = typename GpuElement<kFormats[kRow].scale>::Type;
  using Pack = std::conditional_t<kBits == 4, std::uint32_t, uint2>;
  static_assert(8 * sizeof(Pack) == kCodes * kBits);
  struct NoTable {};
  using Table = std::conditional_t<kCodec == Codec::Codebook, Codebook, NoTable>;

  const std::uint8_t* codes;
  const Scale* scales;
  const std::uint8_t* zeros;

  explicit Codes(const Tensor& weight) : codes(weight.as<const std::uint8_t>()) {
    const BlockLayout layout(weight.format(), weight.stored().elements());
    scales = reinterpret_cast<const Scale*>(codes + layout.scales);
    zeros = codes + layout.zeros;
  }

  __device__ static void fill(Table& table) {
    if constexpr (kCodec == Codec::Codebook) {
      constexpr Codebook kCodebook = kFormats[kRow].codebook;
      const int code = static_cast<int>(threadIdx.x);
      if (code < static_cast<int>(std::size(kCodebook.values))) {
        table.values[code] = kCodebook.values[code];
      }
    }
  }
  __device__ const Pack* pack(std::int64_t element) const {
    return reinterpret_cast<const Pack*>(codes + element * kBits / 8);
  }
  __device__ float scale(std::int64_t element) const {
    if constexpr (kRowScales) return 1.0F;
    return to_float(scales[element / kBlock]);
  }
  __device__ Floats<kCodes> values(const Pack& pack, std::int64_t element,
                                   const Table& table) const {
    Floats<kCodes> result;
    if constexpr (kCodec == Codec::Element) {
      unpack(pack.x, result.values, Element{});
      unpack(pack.y, result.values + kCodes / 2, Element{});
    } else {
      float zero = 0;
      if constexpr (kCodec == Codec::Offset) {
        const std::int64_t block = element / kBlock;
        zero = static_cast<float>(nibble_of(zeros[block / 2], block));
      }
#pragma unroll
      for (int i = 0; i < kCodes; ++i) {
        const std::uint32_t code = nibble_of(byte_of(pack, i / 2), i);
        if constexpr (kCodec == Codec::Codebook) {
          result[i] = table.values[code];
        } else {
          result[i] = static_cast<float>(code) - zero;
        }
      }
    }
    return result;
  }
};

/// Calls `body` with a reader of the weight's codes.
template <typename Body>
void with_codes(const Tensor& weight, const Body& body) {
  with_row(weight.format(), [&](auto row) {
    constexpr std::size_t kRow = decltype(row)::value;
    constexpr Scales kScales = kFormats[kRow].scales;
    if constexpr (kScales == Scales::Row || kScales == Scales::Block) {
      body(Codes<kRow>(weight));
    } else {
      expect(false, "a weight's format has no codes");
    }
  });
}

}  // namespace vramfit::gpu
