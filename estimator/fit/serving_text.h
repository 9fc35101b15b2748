#pragma once

#include <string>

#include "runtimes/serving.h"

namespace vramfit::fit {

/// What an engine counts of its share, what its cache is, and what it takes beyond: a line each.
std::string serving_text(const Serving& serving);

}  // namespace vramfit::fit
