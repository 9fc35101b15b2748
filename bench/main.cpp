#include <benchmark/benchmark.h>

#include <cstdlib>
#include <functional>
#include <iostream>

#include "bench/context.h"
#include "bench/families.h"
#include "bench/options.h"
#include "bench/reporter.h"
#include "bench/selection.h"
#include "bench/sweep.h"
#include "estimator/data_path.h"
#include "model/config/hugging_face.h"
#include "model/errors.h"

namespace vramfit::bench {
namespace {

/// Enough for hundreds of iterations, so that the whole sweep stays a matter of seconds.
constexpr double kLatencySeconds = 0.1;

/// Hands Google Benchmark its flags; what it does not know either is a mistake.
void initialize(char* program, std::vector<std::string> arguments) {
  std::vector<char*> argv = {program};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  ::benchmark::SetDefaultTimeUnit(::benchmark::kMillisecond);
  ::benchmark::Initialize(&argc, argv.data());
  if (argc > 1) throw BadInput(std::string("unknown flag '") + argv[1] + "'; --help lists them");
}

Selection select_rows(Options& options, const Filter& filter, const Target& target,
                      Models& models) {
  const auto entries =
      read_sweep(options.sweep ? *options.sweep : data_file("sweep.json").string());
  Selection selection = select(expand(entries, options.axes), options.axes, filter, target, models);
  for (const auto& [why, rows] : selection.left_out) {
    std::cerr << "bench: " << rows << (rows == 1 ? " row" : " rows") << " left out: " << why
              << "\n";
  }
  return selection;
}

/// Google Benchmark keeps what this makes. The static analyzer, which cannot know, would call it a
/// leak in Google Benchmark's own header.
::benchmark::internal::Benchmark* add(const std::string& name,
                                      const std::function<void(::benchmark::State&)>& run) {
#ifdef __clang_analyzer__
  std::abort();
#else
  return ::benchmark::RegisterBenchmark(name.c_str(), run);
#endif
}

/// Once each, under their names. `selection` must outlive the run.
std::vector<std::string> register_rows(const Selection& selection) {
  std::vector<std::string> names;
  for (const Case& c : selection.cases) {
    names.push_back(c.row.name());
    add(names.back(), [&c](::benchmark::State& state) {
      c.row.family->run(state, c);
    })->Iterations(1);
  }
  return names;
}

void register_latency(const Filter& filter, bool briefly, std::vector<std::string>& names) {
  for (const LatencyBenchmark& latency : latency_benchmarks()) {
    if (!filter.selects(latency.name)) continue;
    names.push_back(latency.name);
    auto* registered = add(latency.name, latency.run);
    if (briefly) registered->MinTime(kLatencySeconds);
  }
}

void run_reports(const GoogleFlags& flags) {
  require_writable(flags.out);
  Reporter display(*::benchmark::CreateDefaultDisplayReporter(), flags.format);
  if (flags.out.empty()) {
    ::benchmark::RunSpecifiedBenchmarks(&display, ".");
    return;
  }
  const auto to_file = make_file_reporter(flags.out_format);
  Reporter file(*to_file, flags.out_format);
  ::benchmark::RunSpecifiedBenchmarks(&display, &file, ".");
}

void run(int argc, char** argv) {
  Options options = parse_options(argc, argv);
  initialize(argv[0], options.google.pass_on);
  std::optional<ModelConfig> given;
  if (options.config) {
    given = read_hugging_face(*options.config);
    options.axes[index(Axis::Model)] = {given->name};
  }
  Models models(given);
  const Filter filter(options.google.filter);
  const Target target = open_target(options.device);
  const Selection selection = select_rows(options, filter, target, models);

  std::vector<std::string> names = register_rows(selection);
  register_latency(filter, !options.google.min_time, names);
  if (names.empty()) {
    throw BadInput("benchmark_filter: '" + options.google.filter +
                   "' matches no row; --benchmark_list_tests lists them");
  }
  if (options.google.list) {
    for (const std::string& name : names) std::cout << name << "\n";
    return;
  }
  add_context(target);
  run_reports(options.google);
}

}  // namespace
}  // namespace vramfit::bench

int main(int argc, char** argv) {
  try {
    vramfit::bench::run(argc, argv);
    return 0;
  } catch (const vramfit::BadInput& error) {
    std::cerr << "bench: error: " << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "bench: error: " << error.what() << "\n";
    return 3;
  }
}
