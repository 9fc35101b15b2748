#pragma once

#include <string>
#include <vector>

#include "bench/process/journal.h"
#include "bench/process/progress.h"
#include "bench/rows/case.h"
#include "bench/rows/families.h"

namespace vramfit::bench {

/// Runs rows: predictions in this process, measurements each in a process of its own, whose
/// abnormal end becomes a failure; a row that the journal holds is not run.
class RowRunner {
 public:
  /// `arguments`: what a row's process has to be told beside the row. `rows`: how many there are.
  RowRunner(std::vector<std::string> arguments, Journal& journal, int rows)
      : arguments_(std::move(arguments)), journal_(journal), progress_(rows) {}

  /// `conditions`: all that the row's figures depend on.
  Result run(const Case& row, const Conditions& conditions);

  /// A row could not be kept, and stderr was told.
  bool journal_failed() const { return journal_failed_; }

 private:
  void keep(const std::string& row, const Conditions& conditions, const Result& result);
  Result measure(const Case& row) const;

  std::vector<std::string> arguments_;
  Journal& journal_;
  Progress progress_;
  bool journal_failed_ = false;
};

}  // namespace vramfit::bench
