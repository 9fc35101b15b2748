#pragma once

#include <string>

#include "estimator/ask/question.h"
#include "estimator/timeline/recording.h"
#include "estimator/timeline/verification.h"

namespace vramfit {

/// What was recorded, beside what is predicted for the question. Throws BadInput that names it as
/// it is `called`, where it ends with the model loaded.
Verification verified(const Recording& recording, const std::string& called,
                      const Question& question);

/// One object; sizes are integers in bytes.
std::string verification_json(const Verification& verification, const Question& question);

}  // namespace vramfit
