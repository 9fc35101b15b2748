#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace vramfit::standin {

/// A function of a library that we answer.
struct Answer {
  std::string_view name;
  const void* function;
};

/// An answer's row: its name, and the function of that name in `table`'s namespace.
template <class Function>
Answer answer(std::string_view name, Function* function) {
  return {name, reinterpret_cast<const void*>(function)};
}

/// A library that programs load, as we stand in for it.
struct Library {
  std::string_view stem;  ///< its soname begins so: "libcudart.so."
  /// What it answers, most specific first: the first table with a name has it.
  std::span<const std::span<const Answer>> answers;
  /// Functions that do nothing and whose result is success: nothing that a program sees of them
  /// hangs on it.
  std::span<const std::string_view> silent;
  /// Its names begin with one of these: whose an unversioned symbol is.
  std::span<const std::string_view> prefixes;
  bool versioned = false;  ///< symbols carry the soname as their version

  const void* find(std::string_view name) const;
  bool is_silent(std::string_view name) const;
};

/// What a function gives by address that no rule of ours tells, sizes of workspaces above all: it
/// is taken to be 0, and named.
struct Gives {
  std::string_view name;  ///< a '?' stands for any letter
  int argument;           ///< the first that is such an address, from 0; of integers and addresses
  std::size_t bytes;      ///< that lie there
  int numbers = 1;        ///< so many arguments from there on
};

/// Null where a function gives nothing, or nothing that we know of: libraries/sizes.cpp is the
/// table.
const Gives* given_by(std::string_view function);

/// The library of that soname, or null: libraries/libraries.cpp is the table.
const Library* library_of(std::string_view soname);

}  // namespace vramfit::standin
