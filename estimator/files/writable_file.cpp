#include "estimator/files/writable_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "model/errors.h"

namespace vramfit {
namespace {

constexpr mode_t kMode = 0666;  // less what the umask takes

/// Whether the descriptor's file is still what lies at `path`: the process that had it before may
/// have given it another name.
bool lies_at(const std::filesystem::path& path, const struct stat& opened) {
  struct stat there {};
  return ::stat(path.c_str(), &there) == 0 && there.st_dev == opened.st_dev &&
         there.st_ino == opened.st_ino;
}

}  // namespace

WritableFile::WritableFile(const std::string& flag, const std::filesystem::path& path,
                           const std::filesystem::path& called)
    : called_(called) {
  const auto refuse = [&](const std::string& why) {
    if (descriptor_ >= 0) ::close(descriptor_);
    throw BadInput(flag + ": cannot write '" + called_ + "': " + why);
  };
  for (;;) {
    // A pipe that nobody reads would be waited for.
    constexpr int kAtTheEnd = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
    descriptor_ = ::open(path.c_str(), kAtTheEnd, kMode);
    struct stat opened {};
    if (descriptor_ < 0 && errno == ENXIO)
      refuse("nobody reads it; a file, or a pipe with a reader");
    if (descriptor_ < 0 || ::fstat(descriptor_, &opened) != 0) {
      refuse(std::string(std::strerror(errno)) + "; a file in a folder that can be written");
    }
    ::fcntl(descriptor_, F_SETFL, O_APPEND);  // but what is written to one waits for its reader
    regular_ = S_ISREG(opened.st_mode);
    if (!regular_) return;
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      refuse("another process is at it; another file, or wait for its end");
    }
    if (lies_at(path, opened)) return;
    ::close(descriptor_);
  }
}

WritableFile::~WritableFile() { ::close(descriptor_); }

void WritableFile::append(const std::string& text) {
  const off_t before = regular_ ? ::lseek(descriptor_, 0, SEEK_END) : 0;
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t bytes = ::write(descriptor_, text.data() + written, text.size() - written);
    if (bytes >= 0) {
      written += static_cast<std::size_t>(bytes);
    } else if (errno != EINTR) {
      const int error = errno;
      if (regular_) truncate(before);
      fail(error);
    }
  }
  if (regular_ && ::fsync(descriptor_) != 0) fail(errno);
}

void WritableFile::clear() {
  if (regular_) truncate(0);
}

void WritableFile::truncate(std::int64_t bytes) {
  if (::ftruncate(descriptor_, bytes) != 0) fail(errno);
}

void WritableFile::fail(int error) const {
  throw std::runtime_error("cannot write '" + called_ + "': " + std::strerror(error));
}

}  // namespace vramfit
