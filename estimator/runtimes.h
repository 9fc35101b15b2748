#pragma once

#include <vector>

#include "runtimes/pytorch/runtime.h"

namespace vramfit {

/// All there are.
const std::vector<const Runtime*>& runtimes();

/// The one that is meant where none is named.
const Runtime& default_runtime();

/// PyTorch's, of the release that figures hold for.
const pytorch::PyTorchRuntime& current_pytorch();

/// The axes of all of them, each once.
std::vector<SearchAxis> all_axes();

/// Throws BadInput that lists the names where `name` is none of them.
const Runtime& runtime_named(const std::string& name);

}  // namespace vramfit
