#pragma once

#include <functional>
#include <vector>

#include "bench/real_device.h"

namespace vramfit::bench {

/// The middle one by size, the upper of two. `values` is not empty.
double median(std::vector<double> values);

/// How often `work`, which is done twice to find out, is to be repeated to fill `budget` seconds:
/// three times at least.
int repetitions(const std::function<void()>& work, Device& device, double budget);

/// Median seconds of `work`, repeated so.
double seconds_of(const std::function<void()>& work, Device& device, Stopwatch& clock,
                  double budget);

}  // namespace vramfit::bench
