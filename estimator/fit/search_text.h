#pragma once

#include <string>

#include "estimator/ask/answer.h"

namespace vramfit::fit {

/// What a search found, in lines: the largest that surely fits, the largest that may, and the
/// smaller sizes that do not.
std::string search_text(const Answer& answer, const SearchAxis& axis);

}  // namespace vramfit::fit
