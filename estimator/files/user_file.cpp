#include "estimator/files/user_file.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include "model/errors.h"
#include "model/printable.h"
#include "model/text_file.h"

namespace vramfit {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kShownPathBytes = 80;
constexpr std::chrono::seconds kForAWriter{1};
constexpr std::chrono::seconds kPatience{60};

/// An open pipe, whose writer may come later.
class OpenPipe {
 public:
  explicit OpenPipe(const fs::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {}
  ~OpenPipe() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenPipe(const OpenPipe&) = delete;
  OpenPipe& operator=(const OpenPipe&) = delete;

  /// Appends all of it; returns why that cannot be.
  std::string read(std::string& text, std::size_t at_most) const {
    if (descriptor_ < 0) return std::string(": ") + std::strerror(errno);
    std::array<char, 1 << 14> part{};
    const Clock::time_point opened = Clock::now();
    Clock::time_point until = opened + kForAWriter;
    for (;;) {
      const bool gives = gives_before(until);
      const ssize_t bytes = ::read(descriptor_, part.data(), part.size());
      if (bytes == 0) return gives ? "" : ": nobody writes into it";
      if (bytes < 0 && errno != EAGAIN) return std::string(": ") + std::strerror(errno);
      if (bytes > 0) text.append(part.data(), static_cast<std::size_t>(bytes));
      if (text.size() > at_most)
        return ": it holds more than " + std::to_string(at_most >> 20U) + " MiB";
      if (!gives && until == opened + kPatience) return ": its end did not come within a minute";
      if (!gives) until = opened + kPatience;
    }
  }

 private:
  /// Something, or its end.
  bool gives_before(Clock::time_point until) const {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
      pollfd entry{descriptor_, POLLIN, 0};
      const int ready = ::poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
      if (ready >= 0 || errno != EINTR) return ready > 0;
    }
  }

  int descriptor_;
};

}  // namespace

bool is_pipe(const fs::path& path) {
  std::error_code ignored;
  return names_a_path(path) && fs::is_fifo(path, ignored);
}

std::string read_user_file(const fs::path& path, const char* field, const char* expected,
                           std::size_t at_most) {
  if (!is_pipe(path)) return read_text_file(path, field, expected, at_most);
  std::string text;
  const std::string why = OpenPipe(path).read(text, at_most);
  if (why.empty()) return text;
  throw BadInput(std::string(field) + ": cannot read '" + one_line(path.string(), kShownPathBytes) +
                 "'" + why + "; " + expected);
}

}  // namespace vramfit
