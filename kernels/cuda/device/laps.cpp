#include "kernels/cuda/device/laps.h"

namespace vramfit {

void Laps::note(cudaStream_t stream) { moments_.emplace_back(Moment::Timed::Yes).note(stream); }

std::vector<double> Laps::take() {
  std::vector<double> seconds;
  if (!moments_.empty()) moments_.back().wait();
  for (std::size_t i = 1; i < moments_.size(); ++i) {
    seconds.push_back(static_cast<double>(moments_[i].milliseconds_since(moments_[i - 1])) / 1e3);
  }
  moments_.clear();
  return seconds;
}

}  // namespace vramfit
