#include "bench/report/reporter.h"

#include <cmath>

#include "bench/report/console_table.h"

namespace vramfit::bench {
namespace {

using Run = ::benchmark::BenchmarkReporter::Run;
using ::benchmark::UserCounters;

Run in_our_form(Run run) {
  run.run_name.iterations.clear();
  run.run_name.min_time.clear();
  run.run_name.time_type.clear();
  UserCounters kept;
  for (const auto& [name, counter] : run.counters) {
    if (!std::isfinite(counter.value)) continue;
    kept[name] = counter;
  }
  run.counters = std::move(kept);
  return run;
}

}  // namespace

Reporter::Reporter(::benchmark::BenchmarkReporter& to, std::string format, std::ostream& out,
                   std::mutex& mutex)
    : to_(to), format_(std::move(format)), out_(out), mutex_(mutex) {}

bool Reporter::ReportContext(const Context& context) {
  const std::lock_guard lock(mutex_);
  began_ = true;
  to_.SetOutputStream(&out_);
  to_.SetErrorStream(&GetErrorStream());
  // A CSV file has no place for it, and a screen none for what concerns times alone.
  return format_ == "csv" || to_.ReportContext(context);
}

void Reporter::ReportRuns(const std::vector<Run>& runs) {
  std::vector<Run> ours;
  ours.reserve(runs.size());
  for (const Run& run : runs) ours.push_back(in_our_form(run));
  const std::lock_guard lock(mutex_);
  for (const Run& run : ours) {
    if (run.run_type == Run::RT_Iteration && run.repetition_index <= 0) ++rows_;
  }
  if (format_ == "csv") {
    held_.insert(held_.end(), ours.begin(), ours.end());
  } else {
    to_.ReportRuns(ours);
  }
}

void Reporter::Finalize() {
  const std::lock_guard lock(mutex_);
  finish();
}

void Reporter::finish() {
  if (!began_ || finished_) return;
  finished_ = true;
  if (!held_.empty()) to_.ReportRuns(held_);
  to_.Finalize();
}

// The CSV reporter is deprecated, and there as long as its flag is.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
std::unique_ptr<::benchmark::BenchmarkReporter> make_reporter(
    const std::string& format, const std::map<std::string, std::string>& facts) {
  if (format == "json") return std::make_unique<::benchmark::JSONReporter>();
  if (format == "csv") return std::make_unique<::benchmark::CSVReporter>();
  return std::make_unique<ConsoleTable>(facts);
}
#pragma GCC diagnostic pop

}  // namespace vramfit::bench
