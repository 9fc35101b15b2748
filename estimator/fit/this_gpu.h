#pragma once

#include <optional>

#include "estimator/budget.h"

namespace vramfit::fit {

/// This machine's first GPU as its driver describes it, or nothing where there is none. Asks NVML,
/// which, unlike CUDA, takes no memory of the card.
std::optional<Budget> this_gpu();

}  // namespace vramfit::fit
