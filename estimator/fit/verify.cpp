#include "estimator/fit/verify.h"

#include <algorithm>

#include "estimator/timeline/recording.h"

namespace vramfit::fit {
namespace {

std::size_t allocations(const std::vector<Event>& events, int from_step) {
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(), [from_step](const Event& e) {
        return e.kind == Event::Kind::Allocate && e.step >= from_step;
      }));
}

/// The run step by step, and not only until its steps repeat: for as long as it was recorded.
KeptLedger predicted(const Request& request, std::size_t recorded) {
  const Estimate estimate = vramfit::estimate(request);
  // Where it ends on the card the recording shows; a recording of another card may go on.
  const std::uint64_t capacity = estimate.fits ? estimate.capacity : kUnlimitedBytes;
  Extent extent;
  const auto run = [&] {
    return request.workload->run(gpu_of(request.budget), capacity, request.model, extent).report;
  };
  RunReport report = run();
  const std::size_t walked = allocations(report.events, 0);
  const std::size_t of_a_step = allocations(report.events, extent.steps);
  if (request.workload->training() && recorded > walked && of_a_step > 0) {
    extent.steps += static_cast<int>((recorded - walked + of_a_step / 2) / of_a_step);
    report = run();
  }
  return keep(report);
}

}  // namespace

Verification verified(const std::string& path, const Question& question) {
  const Recording recording = read_recording(path);
  return verify(recording, predicted(question.requests.front(), recording.allocations.size()));
}

}  // namespace vramfit::fit
