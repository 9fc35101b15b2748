#include "estimator/fit/width.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace vramfit::fit {

std::size_t columns() {
  constexpr std::size_t kUsual = 100;
  constexpr std::size_t kLeast = 60;
  constexpr std::size_t kMost = 160;
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0) return kUsual;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return std::clamp<std::size_t>(size.ws_col, kLeast, kMost);
}

}  // namespace vramfit::fit
