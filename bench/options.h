#pragma once

#include <optional>
#include <string>

#include "bench/axes.h"
#include "bench/google_flags.h"

namespace vramfit::bench {

/// What the command line asks for.
struct Options {
  std::optional<std::string> sweep;   ///< a file; otherwise data/sweep.json
  std::optional<std::string> config;  ///< a config.json that replaces the models
  std::string device;                 ///< as typed; "" where nothing was
  AxisLists axes;                     ///< values typed for an axis, canonical

  GoogleFlags google;
};

/// Throws BadInput. --help prints and ends the program.
Options parse_options(int argc, char** argv);

}  // namespace vramfit::bench
