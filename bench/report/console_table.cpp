#include "bench/report/console_table.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <optional>
#include <ostream>

#include "bench/report/columns.h"
#include "model/printable.h"

namespace vramfit::bench {
namespace {

using Run = ::benchmark::BenchmarkReporter::Run;

constexpr std::size_t kName = 49;
constexpr const char* kFigures = "{:<49} {:>9} {:>9} {:>9} {:>9} {:>10}";

constexpr auto kLargestBatch = {"mem_max_batch", "pred_max_batch", "article_max_batch"};
constexpr auto kLongestSeq = {"mem_max_seq", "pred_max_seq"};
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
                       : fmt::format("{:.3f}", *value / kGb);
}

/// What was predicted less what was measured; nothing where either is missing.
std::string difference(const Run& run) {
  const auto predicted = first_of(run, {"pred_device_used"});
  const auto measured = first_of(run, {"mem_device_used"});
  if (!predicted || !measured || is_share(run)) return "";
  const double bytes = *predicted - *measured;
  return bytes == 0 ? "0" : fmt::format("{:+.1f}", bytes / kMb);
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

/// Tokens a second; of a run that is about time alone how long it took.
std::string speed(const Run& run) {
  if (is_share(run)) return "";
  if (const auto rate = first_of(run, {"tokens_per_second", "decode_tokens_per_second"})) {
    return fmt::format("{:.0f}", *rate);
  }
  if (has_bytes(run) || first_of(run, kLargestBatch) || first_of(run, kLongestSeq)) return "";
  const double scale = ::benchmark::GetTimeUnitMultiplier(run.time_unit);
  return duration(run.GetAdjustedRealTime() / scale);
}

/// What was looked for, or that memory ran out.
std::string outcome(const Run& run) {
  if (is_share(run)) return "";
  if (first_of(run, {"oom"}).value_or(0) != 0) return "OOM";
  if (const auto batch = first_of(run, kLargestBatch)) return fmt::format("batch {:.0f}", *batch);
  if (const auto seq = first_of(run, kLongestSeq)) return fmt::format("seq {:.0f}", *seq);
  return "";
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
  GetOutputStream() << wrapped(heading_)
                    << "A row's name is the line above it, a slash and its own. used: all that the "
                       "card loses;\noff by: predicted less measured, of used.\n\n"
                    << fmt::format(kFigures, "row", "allocated", "used", "off by", "tokens/s",
                                   "result")
                    << "\n"
                    << fmt::format("{:>59} {:>9} {:>9} {:>9}", "GB", "GB", "MB", "or time") << "\n"
                    << std::flush;
  return true;
}

void ConsoleTable::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    const std::string group = console_name(run.benchmark_name()).first;
    if (group != group_ && !group.empty()) GetOutputStream() << within(group, kColumns) << "\n";
    group_ = group;
    GetOutputStream() << console_line(run) << "\n";
  }
  GetOutputStream() << std::flush;
}

std::pair<std::string, std::string> console_name(const std::string& row) {
  const std::size_t key = row.find(':');
  const std::size_t slash = key == std::string::npos ? key : row.rfind('/', key);
  if (slash == std::string::npos) return {"", row};
  return {row.substr(0, slash), row.substr(slash + 1)};
}

std::string console_line(const Run& run) {
  const auto [group, sizes] = console_name(run.benchmark_name());
  std::string name = within((group.empty() ? "" : "  ") + sizes, kColumns);
  if (const auto error = error_of(run)) return within(name + "  ERROR: " + *error, kColumns);
  if (name.size() > kName) name += fmt::format("\n{:{}}", "", kName);
  const auto allocated = first_of(run, {"mem_allocated", "pred_allocated", "article_formula"});
  const auto used = first_of(run, {"mem_device_used", "pred_device_used", "median"});
  std::string line = fmt::format(kFigures, name, level(run, allocated), level(run, used),
                                 difference(run), speed(run), outcome(run));
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace vramfit::bench
