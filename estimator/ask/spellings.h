#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/errors.h"
#include "runtimes/runtime.h"

namespace vramfit {

/// A command line in fit's own names.
struct CommandLine {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> typed;  ///< by fit's name of a flag, what was typed for it
  std::vector<std::string> passed_over;      ///< flags that no byte depends on, as typed
  std::vector<std::string> notes;            ///< on flags that were taken, a line each
  bool of_a_trainer = false;  ///< some are a Trainer's own, and nothing is said of loss-only
};

/// A command line in the names of fit's own flags. What runtimes' settings are called in people's
/// scripts is taken too, first in the words of the runtime that it names, and '_' for '-' in all.
/// Throws BadInput on what fit knows by name and has no answer for yet: it says what is nearest.
CommandLine in_canonical_names(const std::vector<std::string>& typed);
CommandLine in_canonical_names(const std::vector<std::string>& typed, const Runtime& runtime);

/// Which of fit's own flags an alias sets, '_' for '-' in either; itself where it is an own
/// one, or only details another, as gradient-checkpointing-kwargs does.
std::string canonical_flag(std::string alias);

/// A message that begins with a flag's name, with the one that was typed.
std::string as_typed(const std::string& message, const std::map<std::string, std::string>& typed);

/// What `body` returns. What it refuses it refuses in the names that were typed.
template <typename Body>
auto in_typed_names(const std::map<std::string, std::string>& typed, const Body& body) {
  try {
    return body();
  } catch (const UnknownModel&) {
    throw;  // no flag is to blame
  } catch (const BadInput& error) {
    throw BadInput(as_typed(error.what(), typed));
  }
}

/// Flags without a value that are no runtime's settings.
const std::vector<std::string>& own_switches();

/// Those names, for --help.
std::string other_names();

}  // namespace vramfit
