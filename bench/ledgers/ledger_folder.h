#pragma once

#include <filesystem>
#include <string>

#include "bench/rows/result.h"

namespace vramfit::bench {

/// Where a run's ledgers are kept, a file a row.
class LedgerFolder {
 public:
  /// Throws BadInput where the folder cannot be made; `flag` named it. "" keeps none.
  LedgerFolder(const std::string& flag, std::filesystem::path folder);

  bool keeps() const { return !folder_.empty(); }
  /// The result's ledger, in place of what an earlier run left of the row. One that cannot be
  /// written is said on stderr, as what was measured is not lost with it. Without one in the
  /// result, the row's own process should have written it.
  void keep(const std::string& row, bool measured, const Result& result);
  /// Whether one is missing.
  bool failed() const { return failed_; }

 private:
  std::filesystem::path folder_;
  bool failed_ = false;
};

}  // namespace vramfit::bench
