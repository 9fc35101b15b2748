#pragma once

#include <cstdint>
#include <variant>

#include "model/transformer/run.h"

namespace vramfit {

/// What the step program is told to do with a model.
using StepOptions = std::variant<GenerationOptions, TrainingOptions>;

/// What activations are stored and computed in.
DType precision_of(const StepOptions& options);
AttentionForm attention_of(const StepOptions& options);

/// Throws BadInput where the model cannot be run so on a GPU.
void validate(const ModelConfig& config, const StepOptions& options);

/// The longest sequence the model takes in such a run, batch and memory apart.
std::int64_t seq_limit(const ModelConfig& config, const StepOptions& options);

}  // namespace vramfit
