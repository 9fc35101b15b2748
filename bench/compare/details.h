#pragma once

#include <string>

#include "bench/compare/report.h"

namespace vramfit::bench::compare {

/// Every row with every counter, and what its ledgers say, for a terminal.
std::string details_text(const Report& report);

/// The first event at which two ledgers part, in three lines.
std::string parting_text(const std::string& whose, const Moved& moved);

}  // namespace vramfit::bench::compare
