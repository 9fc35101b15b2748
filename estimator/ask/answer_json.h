#pragma once

#include <string>
#include <vector>

#include "estimator/ask/answer.h"

namespace vramfit {

/// For programs: one object, which docs/schemas/fit.schema.json describes.
std::string json_text(const Question& question, const std::vector<Answer>& answers);

}  // namespace vramfit
