#pragma once

#include "runtimes/runtime.h"

namespace vramfit::recorded {

/// Somebody's script, as `vramfit record` keeps its run.
const Runtime& recorded_runtime();

}  // namespace vramfit::recorded
