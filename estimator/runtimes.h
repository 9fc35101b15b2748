#pragma once

#include <vector>

#include "runtimes/runtime.h"

namespace vramfit {

/// All there are; the first is the one meant where none is named.
const std::vector<const Runtime*>& runtimes();

/// Throws BadInput that lists the names where `name` is none of them.
const Runtime& runtime_named(const std::string& name);

/// The runtime's flag of that name; null where it has none.
const Flag* find_flag(const Runtime& runtime, const std::string& name);

}  // namespace vramfit
