#pragma once

#include <nlohmann/json_fwd.hpp>

#include "runtimes/flags.h"
#include "runtimes/setting.h"
#include "runtimes/vramfit/options.h"

namespace vramfit {

/// What a run of the step program can be told.
const Settings& step_settings();

/// Reads flags into options. Throws BadInput on a value that is wrong.
StepOptions read_options(const Flags& flags, bool training, const ModelConfig& model);

/// What was asked, as JSON has it, defaults filled in.
nlohmann::ordered_json asked(const StepOptions& options);

}  // namespace vramfit
