#pragma once

#include <string>

#include "estimator/fit/question.h"
#include "estimator/timeline/verification.h"

namespace vramfit::fit {

/// The snapshot that --verify names, beside what is predicted for the question. Throws BadInput,
/// also where it ends with the model loaded.
Verification verified(const std::string& path, const Question& question);

/// At most 100 columns.
std::string verification_text(const Verification& verification, const Question& question);

/// One object; sizes are integers in bytes.
std::string verification_json(const Verification& verification, const Question& question);

}  // namespace vramfit::fit
