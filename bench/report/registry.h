#pragma once

#include <functional>
#include <optional>
#include <string>

#include "bench/report/google_values.h"
#include "bench/report/report.h"
#include "bench/rows/families.h"

namespace vramfit::bench {

/// Rows as Google Benchmark's benchmarks, under their own names. Must outlive the run.
class Registry {
 public:
  /// Once; the time is what the result says, a failure a row with an error.
  void add(const std::string& name, const std::function<Result()>& run);
  /// `time`: absent, no longer than a sweep can bear.
  void add(const LatencyBenchmark& latency, const std::optional<MinTime>& time);

  void run(Report& report);
  int failures() const { return failures_; }

 private:
  void report(::benchmark::State& state, const std::function<Result()>& run);

  int failures_ = 0;
};

}  // namespace vramfit::bench
