#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/axes.h"

namespace benchmark {
class State;
}

namespace vramfit::bench {

struct Case;

/// A kind of row: which axes it has, and what it runs.
struct Family {
  const char* name;
  std::vector<Axis> axes;
  bool on_real_devices;        ///< false: a catalogue's cards only
  void (*check)(const Case&);  ///< throws BadInput where no such run can be
  void (*run)(::benchmark::State&, const Case&);
};

/// In the order in which they are registered.
const std::vector<Family>& families();

/// A benchmark of the estimator itself: how long an answer takes.
struct LatencyBenchmark {
  std::string name;
  std::function<void(::benchmark::State&)> run;
};

std::vector<LatencyBenchmark> latency_benchmarks();

// What families run; each is described where it is defined.
void run_training(::benchmark::State& state, const Case& row);
void run_inference(::benchmark::State& state, const Case& row);
void run_kv_cache(::benchmark::State& state, const Case& row);
void run_oom_cliff(::benchmark::State& state, const Case& row);

}  // namespace vramfit::bench
