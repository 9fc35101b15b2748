#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vramfit::standin {

/// How often a program called a function that we do not know.
struct UnknownCall {
  std::string library;  ///< soname
  std::string name;
  std::uint64_t calls = 0;
  std::string by;        ///< file of the library that called it last; empty where that is not known
  bool as_zero = false;  ///< what it gives by address was taken to be 0
};

/// What a shell's function without an answer jumps to. It counts for what `unanswered` names, and
/// its result is 0, which is success wherever a status is returned.
const void* unknown_function();

/// The record of a function, one a name; for as long as the process lives. Behind a shell's entry
/// that jumps to unknown_function().
void* unanswered(const std::string& library, const std::string& name);

/// Counts what we answer otherwise than NVIDIA's library would, by whatever name; `caller` is an
/// address of code. True the first time for the file that one is of.
bool count_unknown(const std::string& library, const std::string& name, const void* caller,
                   bool as_zero = false);

/// The file whose code or data an address is in; empty where it is none's.
std::string file_around(const void* address);

/// All that were called.
std::vector<UnknownCall> unknown_calls();

/// From now on the first of those calls ends the process: its name, and exit status 3.
void end_at_unknown_calls();

}  // namespace vramfit::standin
