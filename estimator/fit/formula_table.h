#pragma once

#include <string>

#include "estimator/ask/answer.h"

namespace vramfit::fit {

/// The answer and what formulas say instead, a line each; with where they are published.
std::string formula_table(const Answer& answer, bool sources);

}  // namespace vramfit::fit
