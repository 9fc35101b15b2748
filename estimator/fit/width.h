#pragma once

#include <cstddef>

namespace vramfit::fit {

/// Columns that a line may have: the terminal's, from 60 to 160; 100 where the answer goes
/// elsewhere.
std::size_t columns();

}  // namespace vramfit::fit
