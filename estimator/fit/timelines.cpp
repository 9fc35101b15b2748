#include "estimator/fit/timelines.h"

#include "estimator/fit/text.h"
#include "estimator/timeline/snapshot.h"
#include "estimator/timeline/trace.h"

namespace vramfit::fit {
namespace {

std::unique_ptr<WholeFile> opened(const char* flag, const std::optional<std::string>& path) {
  if (!path) return nullptr;
  return std::make_unique<WholeFile>(flag, *path);
}

Timeline timeline_of(const Answer& answer) {
  const Request& request = answer.request;
  const Estimate& estimate = answer.estimate;
  Timeline timeline;
  timeline.title = short_name(request.model) + ": " + workload_text(request, std::nullopt) +
                   ", on " + request.budget.title;
  timeline.ledger = keep(run_within(estimate.capacity, request, true).report);
  timeline.capacity = estimate.capacity;
  timeline.beside = estimate.levels.device_used - estimate.levels.reserved;
  return timeline;
}

}  // namespace

Timelines::Timelines(const Options& options)
    : snapshot_(opened("snapshot", options.snapshot)), trace_(opened("trace", options.trace)) {}

void Timelines::write(const Answer& answer) const {
  if (!snapshot_ && !trace_) return;
  const Timeline timeline = timeline_of(answer);
  if (snapshot_) snapshot_->replace(memory_snapshot(timeline));
  if (trace_) trace_->replace(chrome_trace(timeline));
}

}  // namespace vramfit::fit
