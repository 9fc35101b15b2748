#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>

namespace vramfit::bench {

/// What a person reads while rows come in: a line each of at most 120 columns, with what was
/// allocated, what the card lost, how far the prediction was off and how fast it went. All else is
/// in the other formats.
class ConsoleTable final : public ::benchmark::BenchmarkReporter {
 public:
  /// `facts` are the run's context, of which the heading shows what there is.
  explicit ConsoleTable(const std::map<std::string, std::string>& facts);

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;

 private:
  std::string heading_;
};

/// A run's line, without its end.
std::string console_line(const ::benchmark::BenchmarkReporter::Run& run);

}  // namespace vramfit::bench
