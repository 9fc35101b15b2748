#pragma once

#include <string>

#include "estimator/timeline/timeline.h"

namespace vramfit {

/// The run in Chrome's trace event format, which https://ui.perfetto.dev opens: a counter of bytes
/// for each category and each level (allocated, reserved, device used), stages as slices, and an
/// instant where memory ran out. A microsecond is an event of the ledger.
std::string chrome_trace(const Timeline& timeline);

}  // namespace vramfit
