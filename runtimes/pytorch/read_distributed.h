#pragma once

#include <nlohmann/json_fwd.hpp>

#include "runtimes/flags.h"
#include "runtimes/pytorch/run.h"
#include "runtimes/runtime.h"

namespace vramfit::pytorch {

/// Those that say how a run is spread over GPUs.
Settings distributed_settings();

/// Sets how training is spread over GPUs. Throws BadInput on what is wrong or contradicts the rest
/// of the options.
void read_distributed(const Flags& flags, TorchTraining& options);

/// Of a generation: device_map="auto" spreads the model over GPUs, which run one after the other.
void read_gpus(const Flags& flags, TorchGeneration& options);

/// What was asked of it.
void add_asked(const Distributed& distributed, nlohmann::ordered_json& json);

const char* name(DistributedStrategy strategy);
/// As --strategy spells it.
const char* name(const Distributed& distributed);

}  // namespace vramfit::pytorch
