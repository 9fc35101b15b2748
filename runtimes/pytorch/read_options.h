#pragma once

#include <nlohmann/json_fwd.hpp>

#include "runtimes/pytorch/options.h"
#include "runtimes/runtime.h"

namespace vramfit::pytorch {

/// What a run of any release can be told.
const Settings& settings_of_a_run();

/// Reads flags into options. Throws BadInput on a value that is wrong.
TorchTraining training_options(const Flags& flags, const ModelConfig& model);
TorchGeneration generation_options(const Flags& flags);

/// What was asked, as JSON has it, defaults filled in.
nlohmann::ordered_json asked(const TorchOptions& options);

}  // namespace vramfit::pytorch
