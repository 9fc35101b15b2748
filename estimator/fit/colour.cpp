#include "estimator/fit/colour.h"

#include <unistd.h>

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
