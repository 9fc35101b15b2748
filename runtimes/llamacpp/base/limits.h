#pragma once

#include <cstdint>

// What is read of a model at most: beyond what any has, and so that no product of them that is a
// tensor's size overflows 64 bits.
namespace vramfit::llamacpp {

inline constexpr std::int64_t kMostLayers = 512;     // LLAMA_MAX_LAYERS
inline constexpr std::int64_t kMostExperts = 1024;   // LLAMA_MAX_EXPERTS
inline constexpr std::int64_t kMostSequences = 256;  // LLAMA_MAX_SEQ
inline constexpr std::int64_t kMostHeads = 1 << 12;
inline constexpr std::int64_t kLargestHead = 1 << 14;  // dimensions
inline constexpr std::int64_t kLargestWidth = 1 << 18;
inline constexpr std::int64_t kLargestFfn = 1 << 20;
inline constexpr std::int64_t kLargestVocab = 1 << 24;
inline constexpr std::int64_t kLongestContext = std::int64_t{1} << 31;

}  // namespace vramfit::llamacpp
