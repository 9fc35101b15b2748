#include "bench/devices/timing.h"

#include <algorithm>
#include <chrono>

namespace vramfit::bench {
namespace {

constexpr double kFewest = 3;
constexpr double kMost = 200;

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

int repetitions(double once, double budget) {
  return static_cast<int>(std::clamp(budget / once, kFewest, kMost));
}

double seconds_of_steps(const std::function<void()>& work, Device& device, Stopwatch& clock,
                        int warm_ups, int times) {
  for (int i = 0; i < warm_ups; ++i) work();
  device.synchronize();
  clock.lap();
  for (int i = 0; i < times; ++i) {
    work();
    clock.lap();
  }
  return median(clock.laps());
}

double seconds_of(const std::function<void()>& work, Device& device, Stopwatch& clock,
                  double budget) {
  work();
  device.synchronize();
  const auto start = std::chrono::steady_clock::now();
  work();
  device.synchronize();
  const std::chrono::duration<double> once = std::chrono::steady_clock::now() - start;
  return seconds_of_steps(work, device, clock, 0, repetitions(once.count(), budget));
}

}  // namespace vramfit::bench
