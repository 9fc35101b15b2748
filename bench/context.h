#pragma once

#include "bench/target.h"

namespace vramfit::bench {

/// Says in every report what the figures are of: schema, evidence, device, versions, commit.
void add_context(const Target& target);

}  // namespace vramfit::bench
