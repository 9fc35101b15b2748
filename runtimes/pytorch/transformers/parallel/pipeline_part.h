#pragma once

#include "model/config/model_config.h"

namespace vramfit::pytorch {

/// The layers that a stage has of so many: as many as each other one, the last the rest, too
/// (layer_range_for_rank of transformers/distributed/pipeline_parallel.py, 5.17). A tied head's
/// weight is its own where the embedding is another stage's.
ModelConfig part_of_stage(const ModelConfig& config, std::int64_t stage, std::int64_t stages);

/// Throws BadInput where a script that cuts the model by its layers does not run as a model would.
void require_parts(const ModelConfig& config, std::int64_t stages);

}  // namespace vramfit::pytorch
