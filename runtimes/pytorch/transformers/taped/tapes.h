#pragma once

#include <memory>

#include "runtimes/pytorch/transformers/modules/causal_lm.h"
#include "runtimes/pytorch/transformers/taped/op_tape.h"

namespace vramfit::pytorch {

/// The tape of a type that a release has; null: it has none.
const OpTape* tape_of(const Release& release, const std::string& model_type);

}  // namespace vramfit::pytorch
