#pragma once

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "bench/rows/result.h"

namespace vramfit::bench {

/// All that a row's figures depend on beside its name: GPU, driver, libraries, commit, flags.
using Conditions = std::map<std::string, std::string>;

/// The same from a report's context and the flags that rows are run with.
Conditions conditions_of(Conditions context, const std::vector<std::string>& flags);

/// Rows that are done, as a file of JSON lines, each with the conditions it was measured under:
/// what a killed sweep leaves behind.
class Journal {
 public:
  /// `path` "" keeps nothing. With `resume` the file keeps what it holds, and rows measured under
  /// the same conditions are found; otherwise the file begins anew. Throws BadInput where it cannot
  /// be written.
  Journal(const std::string& path, Conditions conditions, bool resume);

  /// Null where the row is not there.
  const Result* find(const std::string& row) const;
  /// The row is on disk when this returns. Failures are not kept: they are to be tried again.
  void add(const std::string& row, const Result& result);

 private:
  void read(const std::string& path);

  Conditions conditions_;
  std::map<std::string, Result> results_;
  std::ofstream file_;
};

}  // namespace vramfit::bench
