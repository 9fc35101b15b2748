#pragma once

#include <map>
#include <string>

#include "bench/rows/target.h"

namespace vramfit::bench {

/// What every report says of its figures: schema, evidence, device, versions, commit.
std::map<std::string, std::string> context_of(const Target& target);

}  // namespace vramfit::bench
