#pragma once

#include <string>
#include <vector>

#include "estimator/ask/options.h"

namespace vramfit::fit {

/// The command's page of the manual, in troff's man macros.
std::string man_page(const std::vector<FlagHelp>& flags);

}  // namespace vramfit::fit
