#pragma once

#include <cstdint>
#include <string>

#include "estimator/ask/answer.h"

namespace vramfit::fit {

/// What a search found, in lines: the largest that surely fits, the largest that may, and the
/// smaller sizes that do not.
std::string search_text(const Answer& answer, const SearchAxis& axis);

/// "4096", "Q4_K_M", "none" of names.
std::string size_name(const Answer& answer, const SearchAxis& axis, std::int64_t size);

}  // namespace vramfit::fit
