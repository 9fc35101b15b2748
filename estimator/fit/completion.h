#pragma once

#include <string>
#include <vector>

#include "estimator/ask/options.h"

namespace vramfit::fit {

/// A script that has `shell` complete the command's flags, models and cards. Throws BadInput on a
/// shell that is none of bash, zsh and fish.
std::string completion(const std::string& shell, const std::vector<FlagHelp>& flags);

}  // namespace vramfit::fit
