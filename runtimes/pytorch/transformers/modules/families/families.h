#pragma once

#include "runtimes/pytorch/transformers/modules/family.h"

namespace vramfit::pytorch {

/// The row of a model's family.
const Family& family_of(const ModelConfig& config);

}  // namespace vramfit::pytorch
