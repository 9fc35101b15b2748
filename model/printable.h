#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Text from outside (flags, files, names of folders) as it may stand in a message or a table.
namespace vramfit {

/// `text` without what a terminal would obey or show wrongly: each control character, invisible
/// mark and byte that is no UTF-8 becomes "?".
std::string printable(std::string_view text);

/// The same in at most `bytes`, the end of which gives way to "…".
std::string shortened(std::string_view text, std::size_t bytes);

/// The same, where the middle gives way: what is wrong stands in front, what would be right behind.
std::string one_line(std::string_view text, std::size_t bytes);

}  // namespace vramfit
