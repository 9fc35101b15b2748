#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace vramfit::bench {

/// Hands Google Benchmark's reports on in the form that ours have:
/// - names are the frozen ones, without the "/iterations:1", "/min_time:0.1" or "/manual_time" that
///   stating such adds;
/// - no counter is NaN or infinite, which JSON cannot say (the variation of a zero is such);
/// - CSV comes out at the end, as its header must know every row's counters.
class Reporter final : public ::benchmark::BenchmarkReporter {
 public:
  /// `to` writes `format` into `out`; `mutex` is held while it does. All outlive the reporter.
  Reporter(::benchmark::BenchmarkReporter& to, std::string format, std::ostream& out,
           std::mutex& mutex);

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

  // For a caller that holds the mutex.
  void finish();                      ///< once is enough, more does no harm
  int rows() const { return rows_; }  ///< reported so far, each once however often it was repeated

 private:
  ::benchmark::BenchmarkReporter& to_;
  std::string format_;
  std::ostream& out_;
  std::mutex& mutex_;
  std::vector<Run> held_;  ///< CSV's
  int rows_ = 0;
  bool began_ = false;
  bool finished_ = false;
};

/// What writes a format: "console", "json" or "csv". `facts` are the run's context.
std::unique_ptr<::benchmark::BenchmarkReporter> make_reporter(
    const std::string& format, const std::map<std::string, std::string>& facts);

}  // namespace vramfit::bench
