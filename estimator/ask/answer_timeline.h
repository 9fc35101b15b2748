#pragma once

#include "estimator/ask/answer.h"
#include "estimator/timeline/timeline.h"

namespace vramfit {

/// The run of the answer's request, on its card.
Timeline timeline_of(const Answer& answer);

}  // namespace vramfit
