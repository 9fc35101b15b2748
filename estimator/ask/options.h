#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtimes/flags.h"

namespace vramfit {

/// The command line as typed; what it means is question.h's business.
struct FitOptions {
  std::optional<std::string> model;
  std::optional<std::string> config;       ///< a path
  std::optional<std::string> config_json;  ///< what such a file holds; `model` may then name it
  std::optional<std::string> gguf;         ///< the path of a GGUF file
  std::optional<std::string> tape;         ///< the path of a run that was recorded
  std::optional<std::string> params;
  std::optional<std::string> hidden;
  std::optional<std::string> layers;

  bool train = false;
  Flags flags;  ///< settings of the run
  std::optional<std::string> runtime;

  std::optional<std::string> gpu;
  std::optional<std::string> vram;
  std::optional<std::string> headroom;

  std::vector<std::string> searches;  ///< names of axes: "batch" of --max-batch
  bool beyond_positions = false;
  bool formulas = false;
  bool advise = false;
  bool strict = false;
  bool verbose = false;
  bool json = false;
  bool list = false;
  bool version = false;
  std::string help;  ///< what --help is to print; empty where it was not asked for
  std::optional<std::string> completion;  ///< of which shell
  bool man = false;                       ///< the manual page

  std::optional<std::string> snapshot;  ///< files to be written
  std::optional<std::string> trace;
  std::optional<std::string> verify;  ///< a file to be read

  /// Of flags that were given by another name than fit's, that one, by fit's.
  std::map<std::string, std::string> typed;
  std::vector<std::string> passed_over;  ///< flags of a script that no byte depends on
  std::vector<std::string> notes;        ///< on others that were taken, a line each
  bool of_a_trainer = false;             ///< some flags are a Trainer's own: trainer.h
};

/// A flag, as --help says it.
struct FlagHelp {
  std::string name;  ///< "--batch"
  std::string help;
  std::string group;  ///< what it is about
  bool takes_value = false;
};

/// Every flag, by the settings of all runtimes.
std::vector<FlagHelp> flag_helps();

/// Of a command line, without the program's name. Throws BadInput.
FitOptions parse_options(const std::vector<std::string>& arguments);

/// Of flags by name, "_" for "-": a switch holds true, others a text or a number, a list is its
/// items with commas between them, null is as good as no flag. "config" may hold a config.json
/// itself, and "model" then its name. `more` are arguments of a command line, which go before
/// them. Throws BadInput, also on what only a command line has.
FitOptions options_of(const nlohmann::json& flags, const std::vector<std::string>& more = {});

/// What flags are set to, by fit's own names: those of switches that are on are "true".
using OwnFlags = std::map<std::string, std::string>;

/// Of a command line, without the program's name. Throws BadInput on what in_canonical_names()
/// refuses.
OwnFlags own_flags(const std::vector<std::string>& arguments);

/// Of flags by name and a command line, as options_of() takes them, but for a config itself.
OwnFlags own_flags(const nlohmann::json& flags, const std::vector<std::string>& more);

}  // namespace vramfit
