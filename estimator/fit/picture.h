#pragma once

#include <string>

#include "estimator/fit/answer.h"

namespace vramfit::fit {

/// The answer for one card as a picture in text: what was asked, a bar for each component, the
/// sums, the verdict, and how memory moves from stage to stage. At most 100 columns.
std::string picture(const Answer& answer, Search search);

}  // namespace vramfit::fit
