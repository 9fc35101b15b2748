#include "kernels/cuda/gemm_tuning.h"

#include <algorithm>

#include "kernels/cuda/error.h"

namespace vramfit {
namespace {

class Timer {
 public:
  explicit Timer(cudaStream_t stream) : stream_(stream) {
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    check(cudaEventCreate(&end_), "cudaEventCreate");
  }
  ~Timer() {
    warn(cudaEventDestroy(begin_), "cudaEventDestroy");
    warn(cudaEventDestroy(end_), "cudaEventDestroy");
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// Milliseconds each of `times` runs takes.
  template <typename Run>
  float operator()(int times, const Run& run) {
    check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    for (int i = 0; i < times; ++i) run();
    check(cudaEventRecord(end_, stream_), "cudaEventRecord");
    check(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return milliseconds / static_cast<float>(times);
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

/// Long enough for the events' resolution, short enough to be forgotten.
constexpr float kMilliseconds = 1.0F;
constexpr int kMostRuns = 20;

}  // namespace

int fastest(int count, const std::function<bool(int)>& attempt, cudaStream_t stream) {
  Timer timer(stream);
  int best = -1;
  float best_time = 0;
  for (int i = 0; i < count; ++i) {
    if (!attempt(i)) continue;  // and loads the kernel
    const auto again = [&] { attempt(i); };
    float time = timer(1, again);
    const bool hopeless = best >= 0 && time > 2 * best_time;
    if (!hopeless) {
      const int runs = static_cast<int>(kMilliseconds / std::max(time, 1e-3F));
      time = std::min(time, timer(std::clamp(runs, 2, kMostRuns), again));
    }
    if (best < 0 || time < best_time) {
      best = i;
      best_time = time;
    }
  }
  return best;
}

}  // namespace vramfit
