#pragma once

#include "runtimes/pytorch/run.h"
#include "runtimes/pytorch/torch/memory/playback.h"
#include "runtimes/pytorch/transformers/modules/decoder.h"

namespace vramfit::pytorch {

/// What a model that is trained is built with.
ModelSettings settings_of(const TorchTraining& options);

/// Loads a stage of a pipeline, `part` of a model, from the host, and trains it.
void train_stage(Context& context, Playback& playback, const Ledger& ledger,
                 const ModelConfig& part, const TorchTraining& options, const Extent& extent);

}  // namespace vramfit::pytorch
