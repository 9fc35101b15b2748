#pragma once

#include <memory>
#include <optional>
#include <string>

#include "estimator/files/atomic_file.h"
#include "estimator/timeline/timeline.h"

namespace vramfit {

/// The files that --snapshot and --trace name. Opened before there is a run, each is replaced whole
/// or stays as it was.
class TimelineFiles {
 public:
  /// Throws BadInput that names the file that cannot be opened.
  TimelineFiles(const std::optional<std::string>& snapshot,
                const std::optional<std::string>& trace);

  bool wanted() const { return snapshot_ != nullptr || trace_ != nullptr; }
  /// Throws std::runtime_error that names the file that cannot be written after all.
  void write(const Timeline& timeline) const;

 private:
  std::unique_ptr<AtomicFile> snapshot_;
  std::unique_ptr<AtomicFile> trace_;
};

}  // namespace vramfit
