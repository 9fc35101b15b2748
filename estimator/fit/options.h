#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtimes/flags.h"

namespace vramfit::fit {

/// The command line as typed; what it means is question.h's business.
struct Options {
  std::optional<std::string> model;
  std::optional<std::string> config;
  std::optional<std::string> params;
  std::optional<std::string> hidden;
  std::optional<std::string> layers;

  bool train = false;
  Flags flags;  ///< those of the run: the shared ones, and the runtimes' own
  std::optional<std::string> runtime;

  std::optional<std::string> gpu;
  std::optional<std::string> vram;
  std::optional<std::string> headroom;

  bool max_batch = false;
  bool max_seq = false;
  bool beyond_positions = false;
  bool formulas = false;
  bool advise = false;
  bool strict = false;
  bool verbose = false;
  bool json = false;
  bool list = false;

  std::optional<std::string> snapshot;  ///< files to be written
  std::optional<std::string> trace;
  std::optional<std::string> verify;  ///< a file to be read

  /// Of flags that were given by another name than fit's, that one, by fit's.
  std::map<std::string, std::string> typed;
  std::vector<std::string> passed_over;  ///< flags of a script that no byte depends on
};

/// Whether every runtime has the flag: precision, batch, seq.
bool is_shared(const std::string& flag);

/// Nothing where the command line asked for help or the version, which has been printed then.
/// Throws BadInput.
std::optional<Options> parse_options(int argc, const char* const* argv);

}  // namespace vramfit::fit
