#pragma once

#include <string>

#include "estimator/ask/question.h"
#include "estimator/timeline/verification.h"

namespace vramfit::fit {

/// At most 100 columns.
std::string verification_text(const Verification& verification, const Question& question);

}  // namespace vramfit::fit
