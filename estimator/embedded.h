#pragma once

#include <cstddef>
#include <string_view>

namespace vramfit {

/// A file of data/ as cmake/embed.cmake wrote it into the library.
struct EmbeddedFile {
  std::string_view path;  ///< from data/ on
  std::string_view text;
};

extern const EmbeddedFile kEmbeddedFiles[];
extern const std::size_t kEmbeddedFileCount;

}  // namespace vramfit
