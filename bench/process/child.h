#pragma once

#include <string>
#include <vector>

#include "bench/rows/result.h"

namespace vramfit::bench {

/// A program to start, as posix_spawn takes it.
struct Command {
  std::string program;
  std::vector<std::string> arguments;    ///< without the program's name
  std::vector<std::string> environment;  ///< "NAME=value", beside or instead of this process's own
};

/// Starts this program again.
Command this_program(std::vector<std::string> arguments);

/// Starts the command, waits for it and returns what it answered; a failure that says how it ended
/// where it did without an answer. Its standard output joins our standard error.
Result ask(const Command& command);

/// The same of several that work together, in their order. Where one fails or runs out of memory
/// the others are ended, and the answer of all is its own; a failure says which of them it was.
std::vector<Result> ask_together(const std::vector<Command>& commands);

/// Called in a process that ask() started: hands the result to the one that waits.
void answer(const Result& result);

/// In such a process: to be called first, so that it ends when the one that waits for it does,
/// however that ends.
void end_with_parent();

}  // namespace vramfit::bench
