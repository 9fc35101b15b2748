#pragma once

#include <string>
#include <vector>

#include "estimator/fit/picture.h"

namespace vramfit::fit {

/// The answers for several cards, a line each.
std::string card_table(const Question& question, const std::vector<Answer>& answers,
                       const Style& style);

}  // namespace vramfit::fit
