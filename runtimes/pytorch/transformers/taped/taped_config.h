#pragma once

#include <memory>
#include <optional>

#include "model/config/model_config.h"
#include "runtimes/pytorch/torch/tensor/release.h"

namespace vramfit::pytorch {

/// The model of a config whose type that release has a tape of; absent: it has none. Throws
/// BadInput where the config is not of a shape that the tape is for.
std::optional<ModelConfig> taped_config(const std::shared_ptr<const ModelSource>& source,
                                        const Release& release);

}  // namespace vramfit::pytorch
