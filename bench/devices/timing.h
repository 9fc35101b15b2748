#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/devices/real_device.h"

namespace vramfit::bench {

/// Of the tokens that are run and timed: each time the same.
inline constexpr std::uint64_t kSeed = 1;

/// The middle one by size, the upper of two. `values` is not empty.
double median(std::vector<double> values);

/// How often what takes `once` seconds is to be repeated to fill `budget`: three times at least,
/// and not hundreds.
int repetitions(double once, double budget);

/// Median seconds of `work`, done so often to warm up and then so many times.
double seconds_of_steps(const std::function<void()>& work, Device& device, Stopwatch& clock,
                        int warm_ups, int times);

/// Median seconds of `work`, done twice to warm up and to see how long it takes, then repeated so.
double seconds_of(const std::function<void()>& work, Device& device, Stopwatch& clock,
                  double budget);

}  // namespace vramfit::bench
