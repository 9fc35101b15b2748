#pragma once

#include <cstdint>

namespace vramfit {

// Generous limits, so that products of sizes stay within 64 bits until batch and seq come in.
inline constexpr std::int64_t kMaxLayers = 512;  // four times the deepest that people train
inline constexpr std::int64_t kMaxHidden = 1 << 20;
inline constexpr std::int64_t kMaxFfn = 1 << 22;
inline constexpr std::int64_t kMaxVocab = 1 << 24;
inline constexpr std::int64_t kMaxPositions = std::int64_t{1} << 31;
inline constexpr std::int64_t kMaxWidth = 1 << 22;  // of all query heads together
inline constexpr double kMaxTheta = 1e12;
inline constexpr double kMaxFactor = 1e6;

}  // namespace vramfit
