#pragma once

#include <string>

#include "estimator/ask/answer.h"

namespace vramfit::fit {

/// What to do where it does not fit: changes with which it does, a paragraph each, and the cards it
/// would fit on as it is.
std::string advice_text(const Answer& answer, bool colours);

}  // namespace vramfit::fit
