#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "estimator/estimate.h"

// Closed forms that people use instead of a prediction, as published: to be set beside one.
namespace vramfit {

struct FormulaAnswer {
  const char* name;                    ///< "DeepSpeed"
  const char* form;                    ///< "18 B/param"
  const char* source;                  ///< where it is published
  std::optional<std::uint64_t> total;  ///< bytes; absent where it does not speak of such a run
  bool fits = false;                   ///< all that the card has holds the total
};

/// What each says of the request.
std::vector<FormulaAnswer> formula_answers(const Request& request);

}  // namespace vramfit
