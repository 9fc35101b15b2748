#pragma once

#include <compare>
#include <cstdint>

#include "kernels/cuda/gemm/gemm.h"

namespace vramfit {

/// How a product's `plus` relates to what it writes.
enum class GemmSum : std::uint8_t { None, Other, InPlace };
GemmSum sum_of(const Gemm& gemm);

/// The largest power of two that divides the address, 256 at most: no kernel asks for more.
std::uint32_t alignment(const void* address);

/// A matrix but for where it lies.
struct GemmOperand {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t step;
  std::int64_t batch_step;
  bool transposed;
  Format format = DType::Fp32;
  std::uint32_t alignment;

  friend auto operator<=>(const GemmOperand&, const GemmOperand&) = default;
};

/// All that an algorithm's choice depends on.
struct GemmKey {
  GemmOperand a;
  GemmOperand b;
  GemmOperand to;
  std::int64_t batch;
  GemmSum sum;
  std::uint32_t plus_alignment;  ///< 0: nothing is added
  std::uint32_t bias_alignment;  ///< 0: no bias
  bool tf32;
  GemmScales scales;
  bool fast;
  std::uint64_t workspace_bytes;

  friend auto operator<=>(const GemmKey&, const GemmKey&) = default;
};

GemmKey gemm_key(const Gemm& gemm, bool tf32, std::uint64_t workspace_bytes);

}  // namespace vramfit
