#pragma once

#include <string>

#include "bench/rows/counters.h"

namespace vramfit::bench {

/// What became of a row.
struct Result {
  Counters counters;
  std::string label;
  double seconds = 0;  ///< that its run took
  std::string error;   ///< why there is nothing above; "" otherwise
};

/// A result that is none.
Result failure(const std::string& why);

/// As JSON on one line, and back. Throws BadInput where `line` is none.
std::string to_line(const Result& result);
Result from_line(const std::string& line);

}  // namespace vramfit::bench
