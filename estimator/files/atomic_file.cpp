#include "estimator/files/atomic_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "model/errors.h"

namespace vramfit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBeside = ".partial";

fs::path resolved(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(path, error);
  return error ? path : whole;
}

/// A file that may not be written is not to be replaced either.
fs::path require_writable(const std::string& flag, const fs::path& path) {
  if (path.empty()) throw BadInput(flag + ": is empty; a file's path");
  if (::access(path.c_str(), F_OK) != 0 || ::access(path.c_str(), W_OK) == 0) return path;
  throw BadInput(flag + ": cannot write '" + path.string() + "': " + std::strerror(errno) +
                 "; a file that can be written");
}

}  // namespace

bool is_written_through(const fs::path& path) {
  std::error_code ignored;
  const fs::path folder = fs::weakly_canonical(fs::absolute(path, ignored), ignored).parent_path();
  const fs::path typed_folder = fs::absolute(path, ignored).lexically_normal().parent_path();
  const bool of_the_system = typed_folder == "/dev" || typed_folder == "/dev/fd" ||
                             folder.string().rfind("/proc/", 0) == 0;
  const fs::file_status status = fs::status(path, ignored);
  return of_the_system || (fs::exists(status) && !fs::is_regular_file(status));
}

fs::path AtomicFile::beside() const { return target_.string() + kBeside; }

AtomicFile::AtomicFile(const std::string& flag, const fs::path& typed)
    : target_(is_written_through(typed) ? typed : resolved(typed)),
      through_(is_written_through(typed)),
      file_(flag, through_ ? target_ : beside(), require_writable(flag, typed)) {
  if (through_) return;
  beside_.emplace(beside());
  file_.clear();  // what a process left that was killed
}

AtomicFile::~AtomicFile() {
  std::error_code ignored;
  if (beside_) fs::remove(beside(), ignored);
}

void AtomicFile::replace(const std::string& text) {
  file_.append(text);
  if (through_) return;
  std::error_code error;
  if (fs::exists(target_, error)) {
    fs::permissions(beside(), fs::status(target_, error).permissions(), error);
  }
  fs::rename(beside(), target_, error);
  if (error) {
    throw std::runtime_error("cannot write '" + target_.string() + "': " + error.message());
  }
  beside_.reset();
}

}  // namespace vramfit
