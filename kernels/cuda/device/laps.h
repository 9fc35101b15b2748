#pragma once

#include <cuda_runtime_api.h>

#include <vector>

namespace vramfit {

/// Moments in a stream's work, told by the GPU's own clock.
class Laps {
 public:
  Laps() = default;
  ~Laps();
  Laps(const Laps&) = delete;
  Laps& operator=(const Laps&) = delete;

  /// Notes when what the stream was given so far is done; does not wait for it.
  void note(cudaStream_t stream);
  /// Seconds from each to the next, and forgets them. Waits for the last.
  std::vector<double> take();

 private:
  void forget() noexcept;

  std::vector<cudaEvent_t> events_;
};

}  // namespace vramfit
