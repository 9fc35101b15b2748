#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "estimator/files/removed_at_signals.h"
#include "estimator/files/writable_file.h"

namespace vramfit {

/// Whether what is written to `path` goes where nothing can be put in its place: to a device, a
/// pipe, or by /dev/stdout to whatever a shell opened.
bool is_written_through(const std::filesystem::path& path);

/// A file that is replaced whole or not at all: its text is written beside it, and takes its name
/// once it is on disk. What is written through is just that. No two
/// processes can be at the same one.
class AtomicFile {
 public:
  /// Throws BadInput where it cannot be written, before there is anything to write; `flag` named
  /// it.
  AtomicFile(const std::string& flag, const std::filesystem::path& typed);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Once. Throws std::runtime_error that names the path; the file is as it was then.
  void replace(const std::string& text);

 private:
  std::filesystem::path beside() const;

  std::filesystem::path target_;  ///< what links lead to
  bool through_;
  WritableFile file_;  ///< the target, or what lies beside it
  /// Of what has yet to take the target's name; nothing once it has, or where it is the target.
  std::optional<RemovedAtSignals> beside_;
};

}  // namespace vramfit
