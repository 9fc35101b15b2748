#pragma once

#include "bench/rows/case.h"

namespace vramfit::bench {

/// Throws BadInput, which names the limit, where the row's run would be walked without end or take
/// more bytes than any machine has. `row` is one that its family has checked.
void check_limits(const Case& row);

}  // namespace vramfit::bench
