#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <sstream>

#include "bench/report/google_flags.h"
#include "bench/report/reporter.h"
#include "estimator/files/atomic_file.h"

namespace vramfit::bench {

/// What a run says: row by row on standard output, and as a whole in --benchmark_out's file.
/// Another thread can end it between any two rows.
class Report {
 public:
  /// `facts` are the run's context. Throws BadInput where the file cannot be written.
  Report(const GoogleFlags& flags, const std::map<std::string, std::string>& facts);

  Reporter& display() { return display_; }
  Reporter* file() { return file_ ? &*file_ : nullptr; }  ///< null where none was asked for

  /// Replaces the file. Throws std::runtime_error where that, or standard output, failed.
  void write();
  /// The same with the rows so far, whose number it returns; of none nothing is written. No row is
  /// reported after this: whoever tries waits for ever.
  int cut_short();

 private:
  void write_file();

  std::mutex mutex_;
  std::unique_ptr<::benchmark::BenchmarkReporter> to_screen_;
  Reporter display_;
  std::optional<AtomicFile> target_;
  std::ostringstream text_;  ///< the target's
  std::unique_ptr<::benchmark::BenchmarkReporter> to_text_;
  std::optional<Reporter> file_;
};

/// Throws std::runtime_error where what was printed did not all get to where it was to go.
void flush_standard_output();

}  // namespace vramfit::bench
