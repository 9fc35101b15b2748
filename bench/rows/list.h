#pragma once

#include <string>
#include <vector>

namespace vramfit::bench {

/// The parts of "a,b,c"; empty ones stay, for whoever reads them to refuse.
inline std::vector<std::string> split(const std::string& list, char separator = ',') {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace vramfit::bench
