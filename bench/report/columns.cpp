#include "bench/report/columns.h"

#include <algorithm>

namespace vramfit::bench {
namespace {

/// Letters rather than bytes.
bool begins_letter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

/// Where `line` is to be broken: behind its last space that fits, or where it is full.
std::size_t end_of_line(const std::string& line, std::size_t indent) {
  std::size_t letters = 0;
  std::size_t space = std::string::npos;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (begins_letter(line[at]) && letters++ == kColumns) {
      return space == std::string::npos ? at : space;
    }
    if (line[at] == ' ' && at > indent) space = at;
  }
  return line.size();
}

}  // namespace

std::string wrapped(const std::string& line, std::optional<std::size_t> later) {
  std::string text;
  std::string rest = line;
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  std::size_t indent = first;
  while (true) {
    const std::size_t end = end_of_line(rest, indent);
    text += rest.substr(0, end) + "\n";
    const std::size_t next = rest.find_first_not_of(' ', end);
    if (next == std::string::npos) return text;
    indent = later.value_or(first + 2);
    rest = std::string(indent, ' ') + rest.substr(next);
  }
}

}  // namespace vramfit::bench
