#pragma once

#include <cstddef>
#include <string>

namespace vramfit::bench::compare {

/// Every line of the table is at most so long.
inline constexpr std::size_t kColumns = 100;

/// `line` in lines of at most kColumns, broken at spaces where there are, the later ones indented
/// two further than the first.
std::string wrapped(const std::string& line);

}  // namespace vramfit::bench::compare
