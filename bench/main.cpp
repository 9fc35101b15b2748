#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "bench/command/options.h"
#include "bench/command/row_process.h"
#include "bench/command/selection.h"
#include "bench/families/overhead.h"
#include "bench/process/child.h"
#include "bench/process/row_runner.h"
#include "bench/report/context.h"
#include "bench/report/printout.h"
#include "bench/report/registry.h"
#include "bench/rows/families.h"
#include "bench/rows/sweep.h"
#include "estimator/data_path.h"
#include "model/config/hugging_face.h"
#include "model/errors.h"

namespace vramfit::bench {
namespace {

using Facts = std::map<std::string, std::string>;

/// Hands Google Benchmark its flags; what it does not know either is a mistake.
void initialize(char* program, std::vector<std::string> arguments) {
  std::vector<char*> argv = {program};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  ::benchmark::SetDefaultTimeUnit(::benchmark::kMillisecond);
  ::benchmark::Initialize(&argc, argv.data());
  if (argc > 1) throw BadInput(std::string("unknown flag '") + argv[1] + "'; --help lists them");
}

Selection select_rows(const Options& options, const Filter& filter, Target& target,
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

/// Everything that is to run.
struct Plan {
  Filter filter;
  Selection selection;
  std::vector<std::string> overhead;
  std::vector<FixedRow> article;
  std::vector<LatencyBenchmark> latency;

  std::vector<std::string> names() const {
    std::vector<std::string> names = overhead;
    for (const Case& c : selection.cases) {
      for (const std::string& name : rows_of(c)) names.push_back(name);
    }
    for (const FixedRow& row : article) names.push_back(row.name);
    for (const LatencyBenchmark& row : latency) names.push_back(row.name);
    return names;
  }

  std::vector<std::string> rows_of(const Case& c) const {
    std::vector<std::string> selected;
    for (const std::string& name : row_names(c)) {
      if (filter.selects(name)) selected.push_back(name);
    }
    return selected;
  }
};

Plan make_plan(const Options& options, Target& target, Models& models) {
  const Filter filter(options.google.filter);
  Plan plan{filter, select_rows(options, filter, target, models), {}, {}, {}};
  if (target.is_gpu()) {
    for (const std::string& name : OverheadRows::names()) {
      if (filter.selects(name)) plan.overhead.push_back(name);
    }
  }
  for (const FixedRow& row : article_rows()) {
    if (filter.selects(row.name)) plan.article.push_back(row);
  }
  for (const LatencyBenchmark& latency : latency_benchmarks()) {
    if (filter.selects(latency.name)) plan.latency.push_back(latency);
  }
  if (!plan.names().empty()) return plan;
  if (plan.selection.needs_device != nullptr) {
    throw BadInput(std::string("device: ") + plan.selection.needs_device->name +
                   " times a real device, and " + target.name() +
                   " is none; --device=cuda, or --device=cpu with a tiny --config");
  }
  throw BadInput("benchmark_filter: '" + options.google.filter +
                 "' matches no row; --benchmark_list_tests lists them");
}

/// Refuses to measure beside others, unless told to; then the report names them.
void note_neighbours(const Options& options, const Target& target, Facts& facts) {
  if (!target.is_gpu()) return;
  const std::string neighbours = target.device()->neighbours();
  if (!neighbours.empty() && !options.measuring.shared_gpu) {
    throw BadInput("device: others have memory of the GPU (" + neighbours +
                   "); free it, or --shared-gpu to measure beside them");
  }
  facts["other_processes"] = neighbours.empty() ? "none" : neighbours;
}

OverheadRows overhead_rows(const std::vector<std::string>& arguments) {
  return OverheadRows([arguments](const std::string& module_loading) {
    Command command = this_program(arguments);
    command.arguments.push_back(std::string("--row=") + kOverheadSample);
    command.environment = {"CUDA_MODULE_LOADING=" + module_loading};
    return ask(command);
  });
}

void write_profile(const std::string& typed, OverheadRows& overhead, const Facts& facts) {
  std::filesystem::path path = typed;
  if (path.empty()) {
    path = data_file("gpus.json").parent_path() / "gpus" /
           profile_name(facts.at("gpu"), facts.at("driver"), facts.at("cuda"));
    std::filesystem::create_directories(path.parent_path());
  }
  std::ofstream file(path);
  file << overhead.profile(facts) << std::flush;
  if (!file) throw BadInput("write-profile: cannot write '" + path.string() + "'");
  std::cerr << "bench: the GPU's profile is in " << path.string() << "\n";
}

/// All rows of a case come of one run, which the first of them starts.
void add_case(Registry& registry, RowRunner& runner, const Options& options,
              const std::vector<std::string>& rows, const Case& c) {
  const auto whole = std::make_shared<std::optional<Result>>();
  for (const std::string& name : rows) {
    registry.add(name, [&runner, &options, &c, whole, name] {
      if (!*whole) *whole = runner.run(c);
      Result result = part_of(**whole, c, name);
      const bool waterfall = c.row.family == find_family("Training") && result.error.empty();
      if (options.article_printout && waterfall) std::cout << article_printout(result.counters);
      return result;
    });
  }
}

int run_plan(const Options& options, const Target& target, const Plan& plan) {
  Facts facts = context_of(target);
  const std::vector<std::string> arguments = arguments_for_rows(options);
  const std::string path = target.device() != nullptr ? options.journal : "";
  const Conditions conditions = conditions_of(facts, arguments);
  note_neighbours(options, target, facts);
  Journal journal(path, conditions, options.resume);
  for (const auto& [key, value] : facts) ::benchmark::AddCustomContext(key, value);

  RowRunner runner(arguments, journal, static_cast<int>(plan.selection.cases.size()));
  OverheadRows overhead = overhead_rows(arguments);
  Registry registry;
  for (const std::string& name : plan.overhead) {
    registry.add(name, [&overhead, name] { return overhead.run(name); });
  }
  for (const Case& c : plan.selection.cases) {
    add_case(registry, runner, options, plan.rows_of(c), c);
  }
  for (const FixedRow& row : plan.article) {
    registry.add(row.name, [&row] { return Result{row.counters, "the article's code", 0, ""}; });
  }
  for (const LatencyBenchmark& latency : plan.latency) {
    registry.add(latency, !options.google.min_time);
  }
  registry.run(options.google);
  if (options.write_profile) write_profile(*options.write_profile, overhead, facts);
  if (registry.failures() == 0) return 0;
  std::cerr << "bench: error: " << registry.failures() << " rows failed; the report says why\n";
  return 3;
}

int run(int argc, char** argv) {
  Options options = parse_options(argc, argv);
  if (!options.row.empty()) {
    run_row_process(options);
    return 0;
  }
  initialize(argv[0], options.google.pass_on);
  std::optional<ModelConfig> given;
  if (options.config) {
    given = read_hugging_face(*options.config);
    options.axes[index(Axis::Model)] = {given->name};
  }
  Models models(given);
  Target target(options.device, options.measuring, options.profile);
  if (target.device() != nullptr) options.device = target.device()->flag();
  if (options.write_profile && !target.is_gpu()) {
    throw BadInput("write-profile: there is no GPU to measure; without it, or --device=cuda");
  }
  const Plan plan = make_plan(options, target, models);
  if (!options.google.list) return run_plan(options, target, plan);
  for (const std::string& name : plan.names()) std::cout << name << "\n";
  return 0;
}

}  // namespace
}  // namespace vramfit::bench

int main(int argc, char** argv) {
  try {
    return vramfit::bench::run(argc, argv);
  } catch (const vramfit::BadInput& error) {
    std::cerr << "bench: error: " << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "bench: error: " << error.what() << "\n";
    return 3;
  }
}
