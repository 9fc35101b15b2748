#pragma once

#include <filesystem>
#include <string>

#include "bench/command/options.h"
#include "bench/command/plan.h"
#include "estimator/timeline/timeline_files.h"

namespace vramfit::bench {

/// What --snapshot and --trace ask for: the one row's run over time.
class Timelines {
 public:
  /// Throws BadInput where a file cannot be written, or the plan is not one row with a ledger.
  Timelines(const BenchOptions& options, const Plan& plan);

  /// Reads the row's ledger, as it was kept in `ledgers`. Nothing where it has none: it failed.
  void write(const std::string& row, const Result& result, std::uint64_t capacity,
             const std::filesystem::path& ledgers) const;

 private:
  TimelineFiles files_;
};

/// A folder for ledgers that are asked for in passing: of a row's own process, they come by file.
/// Removed with what is in it; "" where none is needed.
class PassingLedgers {
 public:
  explicit PassingLedgers(BenchOptions& options);
  ~PassingLedgers();
  PassingLedgers(const PassingLedgers&) = delete;
  PassingLedgers& operator=(const PassingLedgers&) = delete;

 private:
  std::filesystem::path folder_;
};

}  // namespace vramfit::bench
