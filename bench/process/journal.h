#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/process/conditions.h"
#include "bench/rows/result.h"
#include "estimator/files/writable_file.h"

namespace vramfit::bench {

/// Rows that are done, as a file of JSON lines, each with the conditions it was measured under:
/// what a killed sweep leaves behind.
class Journal {
 public:
  /// `path` "" keeps nothing. With `resume` the file keeps what it holds, and its rows are found;
  /// otherwise it begins anew. Lines that are damaged are skipped, and stderr told. Throws BadInput
  /// where the file cannot be written or another process is at it.
  Journal(const std::string& path, bool resume);

  /// The row as it was measured under the same conditions; null where it was not.
  const Result* find(const std::string& row, const Conditions& conditions) const;
  /// The row is on disk when this returns. Failures are not kept: they are to be tried again.
  /// Throws std::runtime_error where the file takes no more; what it has stays.
  void add(const std::string& row, const Conditions& conditions, const Result& result);

 private:
  void read(const std::string& path);
  bool read_line(const std::string& line);  ///< false where it is damaged

  std::map<std::pair<std::string, Conditions>, Result> results_;
  std::unique_ptr<WritableFile> file_;
};

}  // namespace vramfit::bench
