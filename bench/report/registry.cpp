#include "bench/report/registry.h"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <exception>

#include "model/printable.h"

namespace vramfit::bench {
namespace {

/// Enough for hundreds of iterations, so that the whole sweep stays a matter of seconds.
constexpr double kLatencySeconds = 0.1;

/// Google Benchmark keeps what this makes. The static analyzer, which cannot know, would call it a
/// leak in Google Benchmark's own header.
::benchmark::internal::Benchmark* add_benchmark(
    const std::string& name, const std::function<void(::benchmark::State&)>& run) {
#ifdef __clang_analyzer__
  static_cast<void>(name), static_cast<void>(run);
  std::abort();
#else
  return ::benchmark::RegisterBenchmark(name.c_str(), run);
#endif
}

/// What throws has failed, and nothing else with it.
Result result_of(const std::function<Result()>& run) {
  try {
    return run();
  } catch (const std::exception& error) {
    return failure(error.what());
  }
}

}  // namespace

void Registry::add(const std::string& name, const std::function<Result()>& run) {
  const auto report_row = [this, run](::benchmark::State& state) { report(state, run); };
  add_benchmark(name, report_row)->UseManualTime()->Iterations(1);
}

void Registry::report(::benchmark::State& state, const std::function<Result()>& run) {
  Result result;
  while (state.KeepRunning()) {
    result = result_of(run);
    if (!result.error.empty()) {
      ++failures_;
      return state.SkipWithError(printable(result.error).c_str());
    }
    state.SetIterationTime(result.seconds);
  }
  for (const auto& [counter, value] : result.counters.values()) state.counters[counter] = value;
  state.SetLabel(result.label);
}

void Registry::add(const LatencyBenchmark& latency, const std::optional<MinTime>& time) {
  auto* added = add_benchmark(latency.name, latency.run);
  if (time && time->iterations) {
    added->Iterations(*time->iterations);
  } else {
    added->MinTime(time ? *time->seconds : kLatencySeconds);
  }
}

void Registry::run(Report& report) {
  ::benchmark::RunSpecifiedBenchmarks(&report.display(), report.file(), ".");
}

}  // namespace vramfit::bench
