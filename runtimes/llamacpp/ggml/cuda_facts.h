#pragma once

#include <cstdint>

// What several of ggml-cuda's kernels go by (common.cuh, fattn-common.cuh).
namespace vramfit::llamacpp::ggml {

// Compute capabilities as ggml counts them: GGML_CUDA_CC_*.
inline constexpr int kVolta = 700;
inline constexpr int kTuring = 750;
inline constexpr int kAmpere = 800;
inline constexpr int kAda = 890;

inline constexpr std::int64_t kRowPadding = 512;  ///< MATRIX_ROW_PADDING, elements
inline constexpr std::int64_t kKeyStride = 256;   ///< FATTN_KQ_STRIDE

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace vramfit::llamacpp::ggml
