#include "bench/report/console_table.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <optional>
#include <ostream>

#include "model/printable.h"

namespace vramfit::bench {
namespace {

using Run = ::benchmark::BenchmarkReporter::Run;

constexpr std::size_t kColumns = 120;
constexpr std::size_t kName = 66;
constexpr const char* kLine = "{:<66} {:>11} {:>13} {:>15} {:>11}";
constexpr double kGb = 1e9;
constexpr double kMb = 1e6;

/// The facts that the heading shows, in its order. "none": it is not there.
constexpr const char* kFacts[] = {"device", "evidence", "gpu",  "driver", "cuda",
                                  "cublas", "cudnn",    "nccl", "commit"};

/// The first of the counters that the run has.
std::optional<double> first_of(const Run& run, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto counter = run.counters.find(name);
    if (counter != run.counters.end()) return counter->second.value;
  }
  return std::nullopt;
}

/// The coefficient of variation is a share of the mean, not bytes.
bool is_share(const Run& run) {
  return run.run_type == Run::RT_Aggregate && run.aggregate_name == "cv";
}

std::string level(const Run& run, const std::optional<double>& value) {
  if (!value) return "";
  return is_share(run) ? fmt::format("{:.2f} %", 100 * *value)
                       : fmt::format("{:.3f} GB", *value / kGb);
}

/// What was predicted less what was measured; nothing where either is missing.
std::string difference(const Run& run) {
  const auto predicted = first_of(run, {"pred_device_used"});
  const auto measured = first_of(run, {"mem_device_used"});
  if (!predicted || !measured || is_share(run)) return "";
  const double bytes = *predicted - *measured;
  return bytes == 0 ? "0" : fmt::format("{:+.1f} MB", bytes / kMb);
}

std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.2f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

/// Whether the run is about memory, rather than about time alone.
bool has_bytes(const Run& run) {
  return first_of(run, {"mem_allocated", "pred_allocated", "article_formula", "median"})
      .has_value();
}

/// The last column: what the row is there for besides bytes.
std::string outcome(const Run& run) {
  if (is_share(run)) return "";
  if (first_of(run, {"oom"}).value_or(0) != 0) return "OOM";
  if (const auto batch = first_of(run, {"mem_max_batch", "pred_max_batch", "article_max_batch"})) {
    return fmt::format("batch {:.0f}", *batch);
  }
  if (const auto seq = first_of(run, {"mem_max_seq", "pred_max_seq"})) {
    return fmt::format("seq {:.0f}", *seq);
  }
  if (const auto rate = first_of(run, {"tokens_per_second", "decode_tokens_per_second"})) {
    return fmt::format("{:.0f}", *rate);
  }
  if (has_bytes(run)) return "";
  const double scale = ::benchmark::GetTimeUnitMultiplier(run.time_unit);
  return duration(run.GetAdjustedRealTime() / scale);
}

/// Why the run failed. Google Benchmark 1.8 renamed what says so.
template <typename AnyRun>
std::optional<std::string> error_of(const AnyRun& run) {
  if constexpr (requires { run.skip_message; }) {
    return run.skipped != 0 ? std::optional(run.skip_message) : std::nullopt;
  } else {
    return run.error_occurred ? std::optional(run.error_message) : std::nullopt;
  }
}

std::string within(const std::string& text, std::size_t columns) {
  return text.size() <= columns ? text : one_line(text, columns);
}

}  // namespace

ConsoleTable::ConsoleTable(const std::map<std::string, std::string>& facts) {
  for (const char* name : kFacts) {
    const auto fact = facts.find(name);
    if (fact == facts.end() || fact->second == "none") continue;
    heading_ += (heading_.empty() ? "" : ", ") + std::string(name) + " " + fact->second;
  }
}

bool ConsoleTable::ReportContext(const Context&) {
  GetOutputStream() << within(heading_, kColumns) << "\n\n"
                    << fmt::format(kLine, "row", "allocated", "device used", "pred - measured",
                                   "tokens/s")
                    << "\n"
                    << std::flush;
  return true;
}

void ConsoleTable::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) GetOutputStream() << console_line(run) << "\n";
  GetOutputStream() << std::flush;
}

std::string console_line(const Run& run) {
  const std::string name = within(run.benchmark_name(), kName);
  if (const auto error = error_of(run)) {
    return within(fmt::format("{:<66} ERROR: {}", name, *error), kColumns);
  }
  const auto allocated = first_of(run, {"mem_allocated", "pred_allocated", "article_formula"});
  const auto used = first_of(run, {"mem_device_used", "pred_device_used", "median"});
  std::string line = fmt::format(kLine, name, level(run, allocated), level(run, used),
                                 difference(run), outcome(run));
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace vramfit::bench
