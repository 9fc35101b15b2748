#pragma once

#include <string>
#include <vector>

namespace vramfit::fit {

/// A command line in the names of fit's own flags. Those of transformers' Trainer, PEFT and
/// bitsandbytes are taken too, as people have them in their scripts, and '_' for '-' in all. Throws
/// BadInput on what fit knows by name and has no answer for yet: it says what is nearest.
std::vector<std::string> in_own_names(int argc, const char* const* argv);

/// Those names, for --help.
std::string other_names();

}  // namespace vramfit::fit
