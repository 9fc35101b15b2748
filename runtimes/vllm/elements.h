#pragma once

#include <cstdint>

#include "runtimes/vllm/options.h"

namespace vramfit::vllm {

inline constexpr std::int64_t kWord = 4;  ///< bytes of a whole number, or of fp32
inline constexpr std::int64_t kLong = 8;
inline constexpr std::uint64_t kGranularity = std::uint64_t{2} << 20;  ///< of cudaMalloc

/// Marlin's products of MXFP4: what a hidden state is padded to, and an expert's width.
inline constexpr std::int64_t kMarlinsHidden = 256;
inline constexpr std::int64_t kMarlinsWidth = 128;

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The multiple of `unit` that has room for it.
inline std::int64_t padded_to(std::int64_t value, std::int64_t unit) {
  return ceil_div(value, unit) * unit;
}

inline bool is_hopper(int sm) { return sm / 10 == 9; }

/// Of one element of the model's own type.
inline std::int64_t own_bytes(const Options& options) {
  return options.type == DType::Fp32 ? 4 : 2;
}

/// Of one that is cached.
inline std::int64_t cache_bytes(const Options& options) {
  if (options.cache_type == "auto") return own_bytes(options);
  return options.cache_type.starts_with("fp8") ? 1 : 2;
}

}  // namespace vramfit::vllm
