#pragma once

#include "runtimes/article/formulas.h"
#include "runtimes/runtime.h"

namespace vramfit::article {

/// The article's formulas as a runtime: what its will_it_fit would have a run take. It knows
/// neither an allocator nor what driver and libraries take, and adds up what is never there at
/// once.
const Runtime& article_runtime();

}  // namespace vramfit::article
