#include "kernels/cuda/gemm/gemm_tuning.h"

#include <algorithm>
#include <vector>

#include "kernels/cuda/base/stream.h"

namespace vramfit {
namespace {

class Timer {
 public:
  explicit Timer(cudaStream_t stream) : stream_(stream) {}

  /// Milliseconds each of `times` runs takes.
  template <typename Run>
  float operator()(int times, const Run& run) {
    begin_.note(stream_);
    for (int i = 0; i < times; ++i) run();
    end_.note(stream_);
    end_.wait();
    return end_.milliseconds_since(begin_) / static_cast<float>(times);
  }

 private:
  cudaStream_t stream_;
  Moment begin_{Moment::Timed::Yes};
  Moment end_{Moment::Timed::Yes};
};

/// A timing's length: long beside the events' resolution, short beside everything else.
constexpr float kMilliseconds = 1.0F;
constexpr int kMostRuns = 20;

/// A GPU's clock varies by more than candidates differ: those within this factor of the best are
/// timed again, in turn, so that a change of the clock affects all of them.
constexpr float kClose = 1.15F;
constexpr int kRounds = 5;

int runs_of(float time) {
  return std::clamp(static_cast<int>(kMilliseconds / std::max(time, 1e-3F)), 2, kMostRuns);
}

struct Candidate {
  int index;
  float time;  ///< the least so far
};

}  // namespace

int fastest(int count, const std::function<bool(int)>& attempt, cudaStream_t stream) {
  Timer timer(stream);
  std::vector<Candidate> candidates;
  float best = 0;
  for (int i = 0; i < count; ++i) {
    if (!attempt(i)) continue;  // and loads the kernel
    const auto again = [&] { attempt(i); };
    float time = timer(1, again);
    const bool hopeless = !candidates.empty() && time > 2 * best;
    if (!hopeless) time = std::min(time, timer(runs_of(time), again));
    best = candidates.empty() ? time : std::min(best, time);
    candidates.push_back({i, time});
  }
  std::erase_if(candidates, [&](const Candidate& one) { return one.time > kClose * best; });
  for (int round = 0; round < kRounds && candidates.size() > 1; ++round) {
    for (Candidate& one : candidates) {
      const float time = timer(runs_of(one.time), [&] { attempt(one.index); });
      one.time = round == 0 ? time : std::min(one.time, time);
    }
  }
  const auto winner =
      std::min_element(candidates.begin(), candidates.end(),
                       [](const Candidate& a, const Candidate& b) { return a.time < b.time; });
  return winner == candidates.end() ? -1 : winner->index;
}

}  // namespace vramfit
