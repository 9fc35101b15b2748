#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace vramfit::bench {

/// Every line that programs of bench print for people is at most so long.
inline constexpr std::size_t kColumns = 100;

/// `line` in lines of at most kColumns, broken at spaces where there are, the later ones indented
/// by `later`; two further than the first unless said.
std::string wrapped(const std::string& line, std::optional<std::size_t> later = std::nullopt);

}  // namespace vramfit::bench
