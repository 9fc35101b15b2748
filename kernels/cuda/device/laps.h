#pragma once

#include <vector>

#include "kernels/cuda/base/stream.h"

namespace vramfit {

/// Moments in a stream's work, told by the GPU's own clock.
class Laps {
 public:
  /// Notes when what the stream was given so far is done; does not wait for it.
  void note(cudaStream_t stream);
  /// Seconds from each to the next, and forgets them. Waits for the last.
  std::vector<double> take();

 private:
  std::vector<Moment> moments_;
};

}  // namespace vramfit
