#include <benchmark/benchmark.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>

#include "bench/command/options.h"
#include "bench/command/plan.h"
#include "bench/command/row_process.h"
#include "bench/command/timelines.h"
#include "bench/data/data_folder.h"
#include "bench/families/overhead.h"
#include "bench/ledgers/ledger_folder.h"
#include "bench/process/child.h"
#include "bench/process/interrupt.h"
#include "bench/process/row_runner.h"
#include "bench/report/context.h"
#include "bench/report/printout.h"
#include "bench/report/registry.h"
#include "estimator/files/atomic_file.h"
#include "model/errors.h"
#include "model/printable.h"

namespace vramfit::bench {
namespace {

using Facts = std::map<std::string, std::string>;

constexpr int kBadInput = 2;
constexpr int kFailed = 3;
constexpr int kInterrupted = 128;  ///< and the signal's number

int complain(const std::exception& error, int status) {
  std::cerr << "bench: error: " << one_line(error.what(), kLongestMessage) << "\n";
  return status;
}

/// Hands Google Benchmark its flags; what it does not know either is a mistake.
void initialize(char* program, const GoogleFlags& flags) {
  std::vector<std::string> arguments = flags.pass_on;
  // It hands reports on to who writes a file where it has opened one itself.
  arguments.emplace_back(flags.out.empty() ? "--benchmark_out=" : "--benchmark_out=/dev/null");
  std::vector<char*> argv = {program};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  ::benchmark::SetDefaultTimeUnit(::benchmark::kMillisecond);
  ::benchmark::Initialize(&argc, argv.data());
  if (argc > 1) {
    throw BadInput("'" + std::string(argv[1]) +
                   "' is no flag, or lacks its =VALUE; --help all lists them");
  }
}

/// Refuses to measure beside others, unless told to; then the report names them.
void note_neighbours(const BenchOptions& options, const Target& target, Facts& facts) {
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

/// Where --write-profile is to write.
std::filesystem::path profile_path(const std::string& typed, const Facts& facts) {
  if (!typed.empty()) return typed;
  const auto folder = data_folder("gpus");
  std::filesystem::create_directories(folder);
  return folder / profile_name(facts.at("gpu"), facts.at("driver"), facts.at("cuda"));
}

/// What the article's code would print of the row; nothing of what it does not run.
std::string article_printout(const Row& row, const Counters& counters) {
  const std::string family = row.family->name;
  if (family == "Training") return article_waterfall(counters);
  if (family != "Inference") return "";
  return article_record(counters, row[Axis::Precision], row[Axis::Batch]);
}

/// All rows of a case come of one run, which the first of them starts.
void add_case(Registry& registry, RowRunner& runner, LedgerFolder& ledgers,
              const Timelines& timelines, const BenchOptions& options,
              const std::vector<std::string>& rows, const Case& c, const Conditions& conditions) {
  const auto whole = std::make_shared<std::optional<Result>>();
  for (const std::string& name : rows) {
    registry.add(name, [&runner, &ledgers, &timelines, &options, &c, whole, name, conditions] {
      if (!*whole) {
        *whole = runner.run(c, conditions);
        const bool made_of_others = c.device != nullptr && !c.row.family->apart;
        if (!made_of_others) ledgers.keep(c.row.name(), false, **whole);
        timelines.write(c.row.name(), **whole, c.capacity(), options.ledgers);
      }
      Result result = part_of(**whole, c, name);
      if (options.article_printout && result.error.empty()) {
        std::cout << article_printout(c.row, result.counters);
      }
      return result;
    });
  }
}

/// What the report shows beside the rows; a key that the command line gives is not one of ours.
void add_context(const BenchOptions& options, const Facts& facts) {
  for (const std::string& key : options.google.context_keys) {
    if (facts.count(key) == 0) continue;
    throw BadInput("benchmark_context: '" + key + "' is bench's own; another key");
  }
  for (const auto& [key, value] : facts) ::benchmark::AddCustomContext(key, printable(value));
}

/// The conditions of rows of a model: those of all rows, and what the model's file holds.
Conditions conditions_with(Conditions conditions, const Models& models, const std::string& model) {
  note_text(conditions, "model", models.text(model));
  return conditions;
}

/// Writes what there is, and says how to go on.
int interrupted(int signal, Report& report, const std::string& journal) {
  try {
    const int rows = report.cut_short();
    std::cerr << "bench: interrupted after " << rows << (rows == 1 ? " row" : " rows")
              << (journal.empty() ? "" : "; the same command with --resume goes on") << "\n";
    return kInterrupted + signal;
  } catch (const std::exception& error) {
    return complain(error, kFailed);
  }
}

int run_plan(const BenchOptions& options, const Target& target, const Plan& plan,
             const Models& models) {
  Facts facts = context_of(target);
  const std::vector<std::string> arguments = arguments_for_rows(options);
  const std::string path = target.device() != nullptr ? options.journal : "";
  Conditions conditions = conditions_of(facts, arguments);
  if (options.profile) note_file(conditions, "profile", *options.profile);
  note_neighbours(options, target, facts);
  add_context(options, facts);
  std::vector<Conditions> case_conditions;
  for (const Case& c : plan.selection.cases) {
    case_conditions.push_back(conditions_with(conditions, models, c.row[Axis::Model]));
  }
  Report report(options.google, facts);
  std::optional<AtomicFile> profile;
  std::filesystem::path profile_file;
  if (options.write_profile) {
    profile_file = profile_path(*options.write_profile, facts);
    profile.emplace("write-profile", profile_file);
  }
  LedgerFolder ledgers("ledgers", options.ledgers);
  const Timelines timelines(options, plan);
  // Last of all that may refuse: it begins the file anew.
  Journal journal(path, options.resume);

  RowRunner runner(arguments, journal, static_cast<int>(plan.selection.cases.size()));
  OverheadRows overhead = overhead_rows(arguments);
  Registry registry;
  for (const std::string& name : plan.overhead) {
    registry.add(name, [&overhead, name] { return overhead.run(name); });
  }
  for (std::size_t i = 0; i < plan.selection.cases.size(); ++i) {
    const Case& c = plan.selection.cases[i];
    add_case(registry, runner, ledgers, timelines, options, plan.rows_of(c), c, case_conditions[i]);
  }
  for (const FixedRow& row : plan.article) {
    registry.add(row.name, [&row] { return Result{row.counters, "the article's code", 0, ""}; });
  }
  for (const LatencyBenchmark& latency : plan.latency) {
    registry.add(latency, options.google.min_time);
  }
  {
    const OnInterrupt on_interrupt([&](int signal) {
      profile.reset();  // leaves no file begun
      return interrupted(signal, report, path);
    });
    registry.run(report);
    report.write();
  }
  if (profile) {
    profile->replace(overhead.profile(facts));
    std::cerr << "bench: the GPU's profile is in " << profile_file.string() << "\n";
  }
  if (registry.failures() > 0) {
    std::cerr << "bench: error: " << registry.failures()
              << (registry.failures() == 1 ? " row" : " rows") << " failed; the report says why\n";
  }
  if (ledgers.failed()) std::cerr << "bench: error: ledgers: not every row's was kept\n";
  const bool failed = registry.failures() > 0 || runner.journal_failed() || ledgers.failed();
  return failed ? kFailed : 0;
}

int run(int argc, char** argv) {
  BenchOptions options = parse_options(argc, argv);
  if (options.answered) return 0;
  if (!options.row.empty()) {
    run_row_process(options);
    return 0;
  }
  watch_interrupts();
  initialize(argv[0], options.google);
  Models models(options.config);
  if (const ModelConfig* given = models.given()) options.axes[index(Axis::Model)] = {given->name};
  Target target(options.device, options.measuring, options.profile);
  if (target.device() != nullptr) options.device = target.device()->flag();
  if (options.write_profile && !target.is_gpu()) {
    throw BadInput("write-profile: there is no GPU to measure; without it, or --device=cuda");
  }
  const PassingLedgers passing(options);
  const Plan plan = make_plan(options, target, models);
  if (target.stands_in()) {
    std::cerr << "bench: no GPU to measure on; figures are predicted, on " << target.name()
              << " (--device chooses)\n";
  }
  if (!options.google.list) return run_plan(options, target, plan, models);
  for (const std::string& name : plan.names()) std::cout << name << "\n";
  return 0;
}

}  // namespace
}  // namespace vramfit::bench

int main(int argc, char** argv) {
  using namespace vramfit::bench;
  // A file that may not grow is one that cannot be written, not a reason to die.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int status = run(argc, argv);
    flush_standard_output();
    return status;
  } catch (const vramfit::BadInput& error) {
    return complain(error, kBadInput);
  } catch (const std::exception& error) {
    return complain(error, kFailed);
  }
}
