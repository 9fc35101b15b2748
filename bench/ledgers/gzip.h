#pragma once

#include <cstddef>
#include <string>

namespace vramfit::bench {

/// As `gzip -9` packs it, without a date: equal texts are equal files.
std::string gzip(const std::string& text);

/// Throws BadInput where `bytes` are no whole gzip file, or unpack to more than `at_most`; `source`
/// names them.
std::string gunzip(const std::string& bytes, const std::string& source, std::size_t at_most);

}  // namespace vramfit::bench
