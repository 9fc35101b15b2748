#pragma once

#include "estimator/fit/answer.h"
#include "estimator/timeline/timeline.h"

namespace vramfit::fit {

/// The run of the answer's request, on its card.
Timeline timeline_of(const Answer& answer);

}  // namespace vramfit::fit
