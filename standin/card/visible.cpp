#include "standin/card/visible.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <numeric>
#include <sstream>
#include <string_view>

namespace vramfit::standin {
namespace {

constexpr std::string_view kUuid = "GPU-";

/// The GPU that an entry names, by its number or the beginning of its UUID; -1 for none.
int named(std::string_view entry, int count) {
  if (entry.starts_with(kUuid) && entry.size() > kUuid.size()) {
    for (int number = 0; number < count; ++number) {
      if (uuid_text(number).starts_with(entry)) return number;
    }
    return -1;
  }
  int number = -1;
  std::from_chars(entry.data(), entry.data() + entry.size(), number);
  return number < count ? number : -1;
}

}  // namespace

std::string uuid_text(int number) {
  char text[64];
  std::snprintf(text, sizeof text, "GPU-%02x000000-0000-0000-0000-000000000000",
                static_cast<unsigned>(number) + 1);
  return text;
}

std::vector<int> visible_devices(const char* variable, int count) {
  std::vector<int> visible;
  if (!variable) {
    visible.resize(static_cast<std::size_t>(count));
    std::iota(visible.begin(), visible.end(), 0);
    return visible;
  }
  std::istringstream entries(variable);
  for (std::string entry; std::getline(entries, entry, ',');) {
    entry.erase(0, entry.find_first_not_of(' '));
    const int number = named(entry, count);
    if (number < 0 || std::find(visible.begin(), visible.end(), number) != visible.end()) break;
    visible.push_back(number);
  }
  return visible;
}

}  // namespace vramfit::standin
