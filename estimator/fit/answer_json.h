#pragma once

#include <string>
#include <vector>

#include "estimator/fit/answer.h"

namespace vramfit::fit {

/// For programs: one object, which docs/schemas/fit.schema.json describes.
std::string json_text(const Question& question, const std::vector<Answer>& answers);

}  // namespace vramfit::fit
