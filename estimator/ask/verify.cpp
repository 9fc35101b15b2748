#include "estimator/ask/verify.h"

#include <algorithm>

#include "model/errors.h"
#include "model/printable.h"

namespace vramfit {
namespace {

constexpr std::size_t kShownPath = 40;

std::size_t allocations(const std::vector<Event>& events, int from_step) {
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(), [from_step](const Event& e) {
        return e.kind == Event::Kind::Allocate && e.step >= from_step;
      }));
}

/// The run step by step, and not only until its steps repeat: for as long as it was recorded.
Expected predicted(const Request& request, std::size_t recorded) {
  const Estimate estimate = vramfit::estimate(request);
  Extent extent;
  const auto run_within = [&](std::uint64_t capacity) {
    return request.workload->run(gpu_of(request.budget), capacity, request.model, extent).report;
  };
  // The recording may go on where the card has no room left.
  const auto run = [&] { return run_within(estimate.fits ? estimate.capacity : kUnlimitedBytes); };
  RunReport report = run();
  const std::size_t walked = allocations(report.events, 0);
  const std::size_t of_a_step = allocations(report.events, extent.steps);
  if (request.workload->training() && recorded > walked && of_a_step > 0) {
    extent.steps += static_cast<int>((recorded - walked + of_a_step / 2) / of_a_step);
    report = run();
  }
  if (estimate.fits) return {keep(report)};
  return {keep(report), allocations(run_within(estimate.capacity).events, 0)};
}

}  // namespace

Verification verified(const Recording& recording, const std::string& called,
                      const Question& question) {
  Verification verification =
      verify(recording, predicted(question.requests.front(), recording.allocations.size()));
  if (verification.loading_alone && !verification.first && !recording.out_of_memory) {
    throw BadInput("verify: '" + one_line(called, kShownPath) +
                   "' records no more than the loading of the model; record two or three steps");
  }
  return verification;
}

}  // namespace vramfit
