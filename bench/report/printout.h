#pragma once

#include <string>

#include "bench/rows/counters.h"

namespace vramfit::bench {

// As the article's code prints them; the measured figures where there are any, otherwise the
// predicted ones.

/// A training row's first step: its harness's table of stages, then its waterfall.
std::string article_waterfall(const Counters& counters);

/// An inference row as its benchmark_inference_memory records it. Empty where the run had no room.
std::string article_record(const Counters& counters, const std::string& precision,
                           const std::string& batch);

}  // namespace vramfit::bench
