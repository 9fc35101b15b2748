#pragma once

#include <memory>

#include "estimator/files/whole_file.h"
#include "estimator/fit/answer.h"

namespace vramfit::fit {

/// The files that --snapshot and --trace name. Opened before there is an answer, each is replaced
/// whole or stays as it was.
class Timelines {
 public:
  /// Throws BadInput that names the file that cannot be opened.
  explicit Timelines(const Options& options);

  /// The run of the answer's request, on its card. Throws std::runtime_error that names the file
  /// that cannot be written after all.
  void write(const Answer& answer) const;

 private:
  std::unique_ptr<WholeFile> snapshot_;
  std::unique_ptr<WholeFile> trace_;
};

}  // namespace vramfit::fit
