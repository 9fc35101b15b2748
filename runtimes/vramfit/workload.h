#pragma once

#include <cstdint>
#include <variant>

#include "model/transformer/run.h"

namespace vramfit {

/// What is done with a model.
using Workload = std::variant<GenerationOptions, TrainingOptions>;

// What both kinds have.
DType precision_of(const Workload& workload);
AttentionForm attention_of(const Workload& workload);
std::int64_t batch_of(const Workload& workload);
std::int64_t seq_of(const Workload& workload);
std::int64_t positions_of(const Workload& workload);  ///< of a sequence when the run ends
void set_batch(Workload& workload, std::int64_t batch);
void set_seq(Workload& workload, std::int64_t seq);

/// Throws BadInput where the model cannot be run so on a GPU.
void validate(const ModelConfig& config, const Workload& workload);

/// The longest sequence the model takes in such a run, batch and memory apart.
std::int64_t seq_limit(const ModelConfig& config, const Workload& workload);

}  // namespace vramfit
