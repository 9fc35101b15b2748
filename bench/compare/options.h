#pragma once

#include <optional>
#include <string>

#include "bench/compare/comparison.h"

namespace vramfit::bench::compare {

/// What the command line asks for.
struct CompareOptions {
  std::string before;  ///< a run, or a folder with runs; "" where `against` says which
  std::string after;
  std::string against;  ///< "newest", a card or a driver; "" where OLD is given
  std::string format = "table";
  std::string old_ledgers;  ///< folders; by default beside the runs
  std::string new_ledgers;
  std::optional<double> slower;  ///< a part, as 0.05
  Allowance tolerance;
  Allowed allowed;
  bool across_cards = false;
  bool all = false;
  bool accept = false;
};

/// Nothing where the command line asked for help or the version, which has been printed then.
/// Throws BadInput.
std::optional<CompareOptions> parse_options(int argc, const char* const* argv);

}  // namespace vramfit::bench::compare
