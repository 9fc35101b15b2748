#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/llamacpp/weights/placement.h"

namespace vramfit::llamacpp {

/// The GPUs that take part, by number: llama_prepare_model_devices.
std::vector<int> devices_of(const Placement& placement, std::size_t gpus);

/// Where each of `layers` runs and, behind them, the output: get_layer_buft_list.
std::vector<Place> split_layers(std::int64_t layers, const Placement& placement,
                                const std::vector<std::uint64_t>& free);

}  // namespace vramfit::llamacpp
