#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vramfit::standin {

/// A symbol that a shell exports.
struct Export {
  std::string name;
  std::string version;     ///< empty: none
  std::uint64_t data = 0;  ///< bytes of an object; 0: a function
};

/// A shell: a shared object of our making that carries another library's soname and symbols, and
/// nothing of its own. Each function loads its entry's address into r11 and jumps where the entry
/// says, so that one file serves whatever answers are put behind it.
struct Shell {
  /// What stands behind a function, for who loads the shell to fill in.
  struct Entry {
    const void* target = nullptr;  ///< what is jumped to
    void* about = nullptr;         ///< for what is jumped to
  };

  std::vector<std::byte> file;  ///< an ELF64 shared object for x86-64
  std::uint64_t entries = 0;    ///< where the first function's Entry lies, from the load address
  std::vector<std::string> functions;  ///< their names, in the order of their entries
};

/// Functions and objects under the soname. Exports of one name and version are one symbol.
Shell make_shell(const std::string& soname, const std::vector<Export>& exports);

}  // namespace vramfit::standin
