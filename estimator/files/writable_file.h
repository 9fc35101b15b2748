#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace vramfit {

/// A file opened to be written at its end, each write checked. Regular ones are this process's
/// alone until it ends, however it ends; devices and pipes are written through.
class WritableFile {
 public:
  /// Keeps what the file holds. Throws BadInput where it cannot be opened or another process has
  /// it. In messages it is `called` so, by `flag`.
  WritableFile(const std::string& flag, const std::filesystem::path& path,
               const std::filesystem::path& called);
  ~WritableFile();
  WritableFile(const WritableFile&) = delete;
  WritableFile& operator=(const WritableFile&) = delete;

  /// All of `text`, on disk when this returns. Throws std::runtime_error that names the file; of a
  /// regular one nothing is kept then.
  void append(const std::string& text);
  /// Forgets all that the file holds.
  void clear();

  bool is_regular() const { return regular_; }

 private:
  void truncate(std::int64_t bytes);
  [[noreturn]] void fail(int error) const;

  std::string called_;
  int descriptor_ = -1;
  bool regular_ = false;
};

}  // namespace vramfit
