#pragma once

#include <string>

#include "bench/compare/comparison.h"

namespace vramfit::bench::compare {

/// Where a difference of device used is: which parts it is made of, and the end of which stage
/// shows it first. "" where device used does not differ.
std::string device_used_text(const RowChange& row);

}  // namespace vramfit::bench::compare
