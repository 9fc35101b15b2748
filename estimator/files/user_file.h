#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace vramfit {

/// Whether it is a pipe, as a shell's `<(…)` is, and /dev/stdin may be.
bool is_pipe(const std::filesystem::path& path);

/// As read_text_file() reads a file, and a pipe, too: for its first byte a second is waited, since
/// perhaps nobody writes into it, and for its end a minute.
std::string read_user_file(const std::filesystem::path& path, const char* field,
                           const char* expected, std::size_t at_most);

}  // namespace vramfit
