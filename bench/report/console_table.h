#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <utility>

namespace vramfit::bench {

/// What a person reads while rows come in: a line each of at most 100 columns, with what was
/// allocated, what the card lost, how far the prediction was off, how fast it went and what came
/// of it. Rows of one family, model, precision and optimizer stand below a line that names these.
/// All else is in the other formats.
class ConsoleTable final : public ::benchmark::BenchmarkReporter {
 public:
  /// `facts` are the run's context, of which the heading shows what there is.
  explicit ConsoleTable(const std::map<std::string, std::string>& facts);

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;

 private:
  std::string heading_;
  std::string group_;  ///< what the rows now coming in are of
};

/// A row's name in two: what it is of, and its sizes. "Training/llama2-7b/fp16/adamw" and
/// "batch:4/seq:512"; of a name without sizes all is the second.
std::pair<std::string, std::string> console_name(const std::string& row);

/// A run's line below its group's, without its end.
std::string console_line(const ::benchmark::BenchmarkReporter::Run& run);

}  // namespace vramfit::bench
