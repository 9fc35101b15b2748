#pragma once

#include <string>
#include <vector>

#include "estimator/fit/answer.h"

namespace vramfit::fit {

/// The answers for several cards, a line each.
std::string card_table(const std::vector<Answer>& answers, Search search);

/// The models and cards that flags can name.
std::string listing();

}  // namespace vramfit::fit
