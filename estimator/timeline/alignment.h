#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace vramfit {

/// Positions of two sequences that belong together, rising in both. Where they differ, the nearest
/// place is looked for from which both go on alike for a while, and what lies between is matched by
/// its longest common subsequence: what one of them has more does not shift the rest.
///
/// Time and memory are bounded whatever the sequences are; where nothing more is found to be alike,
/// the rest of both is left without partners.
std::vector<std::pair<std::size_t, std::size_t>> aligned(const std::vector<std::int64_t>& a,
                                                         const std::vector<std::int64_t>& b);

}  // namespace vramfit
