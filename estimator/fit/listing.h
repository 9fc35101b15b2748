#pragma once

#include <string>

namespace vramfit::fit {

/// The models, families and cards there are.
std::string listing();

}  // namespace vramfit::fit
