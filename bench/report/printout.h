#pragma once

#include <string>

#include "bench/rows/counters.h"

namespace vramfit::bench {

/// A training row's first step as the article's code prints it: its harness's table of stages, then
/// its waterfall. The measured figures where there are any, otherwise the predicted ones.
std::string article_printout(const Counters& counters);

}  // namespace vramfit::bench
