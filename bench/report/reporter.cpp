#include "bench/report/reporter.h"

#include <algorithm>
#include <cmath>

namespace vramfit::bench {
namespace {

using Run = ::benchmark::BenchmarkReporter::Run;
using ::benchmark::UserCounters;

constexpr const char* kHeadline[] = {"mem_allocated",
                                     "mem_reserved",
                                     "mem_device_used",
                                     "mem_unattributed",
                                     "pred_allocated",
                                     "pred_reserved",
                                     "pred_device_used",
                                     "article_allocated",
                                     "mem_max_batch",
                                     "pred_max_batch",
                                     "article_max_batch",
                                     "oom",
                                     "ledger_equal",
                                     "pred_kv_bytes_per_token",
                                     "tokens_per_second",
                                     "prefill_tokens_per_second",
                                     "decode_tokens_per_second",
                                     "min",
                                     "calls",
                                     "bound_seconds",
                                     "of_bound",
                                     "ops_seconds",
                                     "issue_seconds",
                                     "median",
                                     "max"};

bool is_headline(const std::string& counter) {
  return std::any_of(std::begin(kHeadline), std::end(kHeadline),
                     [&](const char* name) { return counter == name; });
}

Run in_our_form(Run run, bool headline_only) {
  run.run_name.iterations.clear();
  run.run_name.min_time.clear();
  run.run_name.time_type.clear();
  UserCounters kept;
  for (const auto& [name, counter] : run.counters) {
    if (!std::isfinite(counter.value)) continue;
    if (headline_only && !is_headline(name)) continue;
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
  return to_.ReportContext(context);
}

void Reporter::ReportRuns(const std::vector<Run>& runs) {
  std::vector<Run> ours;
  ours.reserve(runs.size());
  for (const Run& run : runs) ours.push_back(in_our_form(run, format_ == "console"));
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
std::unique_ptr<::benchmark::BenchmarkReporter> make_file_reporter(const std::string& format) {
  if (format == "json") return std::make_unique<::benchmark::JSONReporter>();
  if (format == "csv") return std::make_unique<::benchmark::CSVReporter>();
  return std::make_unique<::benchmark::ConsoleReporter>(::benchmark::ConsoleReporter::OO_None);
}
#pragma GCC diagnostic pop

}  // namespace vramfit::bench
