#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vramfit::standin {

/// A symbol that an ELF file wants from others, as its dynamic symbol table names it.
struct Wanted {
  std::string name;
  std::string version;  ///< empty: any
  std::string library;  ///< the soname that the version is asked of; empty without a version
  bool data = false;    ///< an object, which is read and written, rather than called
  std::uint64_t bytes = 0;
};

/// What the dynamic linker reads of a shared object or an executable.
struct Image {
  std::vector<std::string> needed;  ///< DT_NEEDED, in order
  std::vector<Wanted> wanted;       ///< undefined symbols, but for weak ones
};

/// Reads `path`, an ELF64 file for x86-64. What is no such file, or is damaged, has an empty image.
Image read_image(const std::filesystem::path& path);

/// Its DT_NEEDED alone, at a fraction of the cost.
std::vector<std::string> read_needed(const std::filesystem::path& path);

}  // namespace vramfit::standin
