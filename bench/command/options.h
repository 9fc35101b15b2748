#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/devices/real_device.h"
#include "bench/report/google_flags.h"
#include "bench/rows/axes.h"

namespace vramfit::bench {

/// What the command line asks for.
struct BenchOptions {
  std::optional<std::string> sweep;   ///< a file; otherwise data/sweep.json
  std::optional<std::string> config;  ///< a config.json that replaces the models
  std::string device;                 ///< as typed; "" where nothing was
  AxisLists axes;                     ///< values typed for an axis, canonical

  MeasuringOptions measuring;
  std::optional<std::string> profile;  ///< a file with the GPU's overhead
  std::optional<std::string>
      write_profile;     ///< a file for it; "" where it shall have its usual name
  std::string journal;   ///< a file; "" for none
  std::string ledgers;   ///< a folder; "" for none
  std::string snapshot;  ///< files for the one row's run over time; "" for none
  std::string trace;
  bool resume = false;
  bool article_printout = false;
  bool answered = false;  ///< --help or --version was, and nothing is to run
  std::string row;        ///< not "": this process is to run that row for another

  GoogleFlags google;
};

/// What a row's own process has to be told.
std::vector<std::string> arguments_for_rows(const BenchOptions& options);

/// Throws BadInput. --help and --version print.
BenchOptions parse_options(int argc, char** argv);

}  // namespace vramfit::bench
