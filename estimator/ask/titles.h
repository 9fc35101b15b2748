#pragma once

#include <optional>
#include <string>

#include "estimator/estimate.h"
#include "estimator/largest.h"

namespace vramfit {

/// The model's name, at most 40 bytes of it.
std::string short_name(const ModelConfig& model);

/// "training in fp16 with adamw, batch 4 x 512 tokens, flash attention"; what is searched for is
/// not named by its number.
std::string workload_text(const Request& request, const SearchAxis* search);

}  // namespace vramfit
