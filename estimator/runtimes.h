#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtimes/pytorch/runtime.h"

namespace vramfit {

/// All there are.
const std::vector<const Runtime*>& runtimes();

/// The one that is meant where none is named.
const Runtime& default_runtime();

/// PyTorch's, of all releases.
const pytorch::PyTorchRuntime& current_pytorch();

/// The axes of all of them, each once.
std::vector<SearchAxis> all_axes();

/// As --runtime spells them.
std::vector<std::string> runtime_names();

/// The one of that name; null where there is none.
const Runtime* find_runtime(std::string_view name);

/// The same. Throws BadInput that lists the names.
const Runtime& runtime_named(const std::string& name);

/// The names of those whose own reader takes a config that no family's does.
std::vector<std::string> readers_of(const ModelSource& source);

/// The names of those that run a model that is shipped (models.h).
std::vector<std::string> runtimes_of(const std::string& model);

}  // namespace vramfit
