#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace vramfit {

/// Whether it can name a file: a NUL would end the name for the system alone.
bool names_a_path(const std::filesystem::path& path);

/// What is there in place of a regular file, ": it is a folder"; empty where one is.
std::string obstacle(const std::filesystem::path& path);

/// A whole regular file of at most `at_most` bytes. Throws BadInput elsewhere: a pipe would be
/// waited for, a device or a checkpoint given by mistake read without end. Messages begin with
/// `field`, the flag that named it, and end with what was `expected`: "a Hugging Face config.json".
std::string read_text_file(const std::filesystem::path& path, const char* field,
                           const char* expected, std::size_t at_most);

}  // namespace vramfit
