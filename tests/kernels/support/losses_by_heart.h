#pragma once

#include <vector>

#include "model/transformer/training.h"

namespace vramfit {

/// Losses of each of 50 steps that learn a short text by heart.
std::vector<double> losses_by_heart(Device& device, Ledger& ledger, const ModelConfig& config,
                                    const TrainingOptions& options);

}  // namespace vramfit
