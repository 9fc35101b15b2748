#pragma once

#include <cstdint>

#include "kernels/cuda/base/dispatch.cuh"
#include "model/ops/quantized_layout.h"

// Quantised weights as they are read back element by element: 16 bytes of codes at a time, and what
// those are to be multiplied by (few_rows/weight_stages.cuh has them for tensor cores). A reader is
// made once in a thread block's life, from its `Table` in shared memory.

namespace vramfit::gpu {

/// The byte of `word` that stands `i`th in memory.
__device__ inline std::uint32_t byte_of(std::uint32_t word, int i) { return word >> 8 * i & 0xFF; }

/// Elements of 8 bits, whose row has a scale beside them.
template <typename Element>
struct EightBits {
  static constexpr int kCodes = 16;
  static constexpr bool kRowScales = true;
  struct Table {};

  const std::uint8_t* codes;

  __device__ static void fill(Table&) {}
  __device__ const uint4* pack(std::int64_t element) const {
    return reinterpret_cast<const uint4*>(codes + element);
  }
  __device__ float scale(std::int64_t) const { return 1.0F; }
  __device__ static Floats<kCodes> values(const uint4& pack, std::int64_t, const Table&) {
    Floats<kCodes> result;
    unpack(pack.x, result.values, Element{});
    unpack(pack.y, result.values + 4, Element{});
    unpack(pack.z, result.values + 8, Element{});
    unpack(pack.w, result.values + 12, Element{});
    return result;
  }
};

using Int8Codes = EightBits<std::int8_t>;
using Fp8Codes = EightBits<__nv_fp8_e4m3>;

/// What formats of 4 bits have in common: a pack's codes are of one block, whose scale scale() is.
struct FourBits {
  static constexpr int kCodes = 32;
  static constexpr bool kRowScales = false;

  const std::uint8_t* codes;

  __device__ const uint4* pack(std::int64_t element) const {
    return reinterpret_cast<const uint4*>(codes + element / 2);
  }

  /// The code that stands `i`th in a word; the earlier of two has a byte's upper half.
  __device__ static std::uint32_t code(std::uint32_t word, int i) {
    return byte_of(word, i / 2) >> (i % 2 == 0 ? 4 : 0) & 0xF;
  }
};

struct Nf4Codes : FourBits {
  static constexpr int kBlock = kNf4.row().block;
  struct Table {
    float values[kNf4Codes];
  };

  const float* scales;

  __device__ static void fill(Table& table) {
    const int code = static_cast<int>(threadIdx.x);
    if (code < kNf4Codes) table.values[code] = nf4_value(code);
  }
  __device__ float scale(std::int64_t element) const { return scales[element / kBlock]; }
  __device__ Floats<kCodes> values(const uint4& pack, std::int64_t, const Table& table) const {
    const std::uint32_t words[] = {pack.x, pack.y, pack.z, pack.w};
    Floats<kCodes> result;
#pragma unroll
    for (int i = 0; i < kCodes; ++i) result[i] = table.values[code(words[i / 8], i % 8)];
    return result;
  }
};

struct Int4Codes : FourBits {
  static constexpr int kBlock = kInt4.row().block;
  struct Table {};

  const __half* scales;
  const std::uint8_t* zeros;

  __device__ static void fill(Table&) {}
  __device__ float scale(std::int64_t element) const { return to_float(scales[element / kBlock]); }
  __device__ Floats<kCodes> values(const uint4& pack, std::int64_t element, const Table&) const {
    const std::int64_t block = element / kBlock;
    const auto zero = static_cast<float>(zeros[block / 2] >> (block % 2 == 0 ? 4 : 0) & 0xF);
    const std::uint32_t words[] = {pack.x, pack.y, pack.z, pack.w};
    Floats<kCodes> result;
#pragma unroll
    for (int i = 0; i < kCodes; ++i) {
      result[i] = static_cast<float>(code(words[i / 8], i % 8)) - zero;
    }
    return result;
  }
};

/// Calls `body` with a reader of the weight's codes.
template <typename Body>
void with_codes(const Tensor& weight, const Body& body) {
  const auto* bytes = weight.as<const std::uint8_t>();
  const Format format = weight.format();
  const FourBitLayout layout(format, weight.stored().elements());
  if (format == Format(DType::Int8)) {
    body(Int8Codes{bytes});
  } else if (format == Format(DType::Fp8)) {
    body(Fp8Codes{bytes});
  } else if (format == kNf4) {
    body(Nf4Codes{{bytes}, reinterpret_cast<const float*>(bytes + layout.scales)});
  } else {
    expect(format == kInt4, "a weight's format is none that kernels read");
    body(Int4Codes{
        {bytes}, reinterpret_cast<const __half*>(bytes + layout.scales), bytes + layout.zeros});
  }
}

}  // namespace vramfit::gpu
