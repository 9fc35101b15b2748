#pragma once

#include <vector>

#include "runtimes/pytorch/runtime.h"

namespace vramfit {

/// All there are; the first is the one meant where none is named.
const std::vector<const Runtime*>& runtimes();

/// PyTorch's, of the release that figures hold for.
const pytorch::PyTorchRuntime& current_pytorch();

/// Throws BadInput that lists the names where `name` is none of them.
const Runtime& runtime_named(const std::string& name);

}  // namespace vramfit
