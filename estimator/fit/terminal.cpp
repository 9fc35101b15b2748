#include "estimator/fit/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace vramfit::fit {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// Bold, and green, yellow or red: ECMA-48's select graphic rendition.
const char* style_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::Fits:
      return "\x1b[1;32m";
    case Verdict::Tight:
      return "\x1b[1;33m";
    case Verdict::Oom:
      break;
  }
  return "\x1b[1;31m";
}

}  // namespace

std::size_t columns() {
  constexpr std::size_t kUsual = 100;
  constexpr std::size_t kLeast = 60;
  constexpr std::size_t kMost = 160;
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0) return kUsual;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return std::clamp<std::size_t>(size.ws_col, kLeast, kMost);
}

bool shows_colours() {
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return isatty(STDOUT_FILENO) == 1 && !is_set("NO_COLOR") && !dumb;
}

std::string verdict_word(Verdict verdict, bool colours) {
  if (!colours) return name(verdict);
  return style_of(verdict) + std::string(name(verdict)) + "\x1b[0m";
}

}  // namespace vramfit::fit
