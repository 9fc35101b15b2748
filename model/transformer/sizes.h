#pragma once

#include <cstdint>

namespace vramfit {

// Far above what any GPU holds; they only keep a slip of the keyboard from being taken for a size.
inline constexpr std::int64_t kMaxBatch = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxSeq = std::int64_t{1} << 24;
inline constexpr std::int64_t kMaxAccumulate = std::int64_t{1} << 20;

/// Throws BadInput that names the flag unless 1 ≤ value ≤ at_most.
void require_size(const char* flag, std::int64_t value, std::int64_t at_most);

/// The sizes every run has.
void require_sizes(std::int64_t batch, std::int64_t seq);

}  // namespace vramfit
