#include "estimator/ask/answer_timeline.h"

#include "estimator/ask/titles.h"

namespace vramfit {

Timeline timeline_of(const Answer& answer) {
  const Request& request = answer.request;
  const Estimate& estimate = answer.estimate;
  Timeline timeline;
  timeline.title = short_name(request.model) + ": " + workload_text(request, nullptr) + ", on " +
                   request.budget.title;
  timeline.ledger = keep(run_within(estimate.capacity, request, true).report);
  timeline.capacity = estimate.capacity;
  timeline.beside = estimate.levels.device_used - estimate.levels.reserved;
  return timeline;
}

}  // namespace vramfit
