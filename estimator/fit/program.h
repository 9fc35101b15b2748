#pragma once

#include <string>
#include <vector>

#include "estimator/ask/surroundings.h"

namespace vramfit::fit {

/// This machine: its files and its GPU.
Surroundings this_machine();

/// The command `fit`, its arguments without the program's name: prints, and returns the exit
/// status. Throws nothing.
int run(const std::vector<std::string>& arguments);

}  // namespace vramfit::fit
