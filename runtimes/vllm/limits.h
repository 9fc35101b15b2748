#pragma once

#include <cstdint>

namespace vramfit::vllm {

// So that bytes of all layers together stay within 64 bits.
inline constexpr std::int64_t kMostHidden = 1 << 18;
inline constexpr std::int64_t kMostWidth = 1 << 20;  ///< of all heads, of an MLP, of a rank
inline constexpr std::int64_t kMostExperts = 1 << 12;
inline constexpr std::int64_t kMostKernel = 1 << 12;  ///< tokens that a convolution sees

}  // namespace vramfit::vllm
