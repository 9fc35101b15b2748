#include "kernels/cuda/device/laps.h"

#include "kernels/cuda/base/error.h"

namespace vramfit {

Laps::~Laps() { forget(); }

void Laps::note(cudaStream_t stream) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "cudaEventCreate");
  events_.push_back(event);
  check(cudaEventRecord(event, stream), "cudaEventRecord");
}

std::vector<double> Laps::take() {
  std::vector<double> seconds;
  if (!events_.empty()) check(cudaEventSynchronize(events_.back()), "cudaEventSynchronize");
  for (std::size_t i = 1; i < events_.size(); ++i) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events_[i - 1], events_[i]), "cudaEventElapsedTime");
    seconds.push_back(static_cast<double>(milliseconds) / 1e3);
  }
  forget();
  return seconds;
}

void Laps::forget() noexcept {
  for (const cudaEvent_t event : events_) warn(cudaEventDestroy(event), "cudaEventDestroy");
  events_.clear();
}

}  // namespace vramfit
