#pragma once

#include <string>
#include <vector>

#include "estimator/fit/answer.h"

namespace vramfit::fit {

/// fit's flags that say what it advises: "--checkpoint full --lora 16".
std::string flags_text(const Advice& advice);
/// And those to be left out.
std::vector<std::string> without(const Advice& advice);

/// What to do where it does not fit: changes with which it does, a paragraph each, and the cards it
/// would fit on as it is.
std::string advice_text(const Answer& answer, bool colours);

}  // namespace vramfit::fit
