#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vramfit::standin {

/// Looks what the files, and those beside them (or beside what they link to) that they need, want
/// of NVIDIA's libraries, and puts shells with our answers in their place, before anything else
/// loads them. What an earlier call saw to is left alone, so that a library that is loaded late
/// gets what it lacks. A file that is named as one of NVIDIA's libraries is stood in for. Other
/// files that are absent, or no ELF files, want nothing.
///
/// `folder` gets the shells' files; linkers may link against them. Throws std::runtime_error where
/// one can't be written or loaded.
void stand_in_for(const std::vector<std::filesystem::path>& files,
                  const std::filesystem::path& folder);

/// The soname of the shell in the place of such a library, by the name of any of its files:
/// libcudart.so, libcudart.so.13.0.96, or a wheel's copy, libcudart.faf08d9a.so.13. Empty where
/// NVIDIA has none of that name, or where the name says no version and none is there.
std::string soname_for(const std::filesystem::path& file);

/// The function that a program asks for by name (cuGetProcAddress, dlsym): our answer, or one that
/// counts how often it is called.
void* function_named(const std::string& soname, const std::string& name);

}  // namespace vramfit::standin
