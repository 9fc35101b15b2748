#pragma once

#include <cstdint>
#include <optional>

#include "runtimes/pytorch/run.h"
#include "runtimes/pytorch/torch/memory/fold.h"
#include "runtimes/pytorch/transformers/loading/device_map.h"

namespace vramfit::pytorch {

/// What of a model is walked, of which the rest is played.
struct Walked {
  ModelConfig config;
  Fold fold;
  std::optional<DeviceMap> map;  ///< of that model, where device_map="auto" made one
};

Walked all_of(const ModelConfig& config);
/// Of layers that are alike few. LLM.int8() finds other outliers in each: the tape's player asks
/// how many (OutlierDraws). Where the model lies by a map, those that act on the GPU that is looked
/// at, and of the others, which take nothing there, a period at either end.
Walked few_of(const ModelConfig& config, const TorchTraining& options);
Walked few_of(const ModelConfig& config, const TorchGeneration& options,
              const std::optional<DeviceMap>& map);

/// Whether two GPUs, the main one aside, do the same.
bool alike(const Walked& a, int gpu_of_a, const Walked& b, int gpu_of_b);

/// Where device_map="auto" puts a model; nothing where all is on one GPU.
std::optional<DeviceMap> map_of(const Gpu& gpu, const Release& release, const ModelConfig& config,
                                const TorchGeneration& options, std::uint64_t capacity);

}  // namespace vramfit::pytorch
