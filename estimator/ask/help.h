#pragma once

#include <string>

namespace vramfit {

/// What --help prints, a screen; `--help all` has every flag.
std::string short_help();

}  // namespace vramfit
