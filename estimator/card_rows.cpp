#include "estimator/card_rows.h"

#include <algorithm>
#include <cstddef>

namespace vramfit {
namespace {

constexpr std::string_view kGaps = " \t\r\n";

/// The value of the first key, where that is "name" and is spelt without escapes; else empty.
std::string_view name_of(std::string_view row) {
  const auto skip = [&row](std::string_view expected) {
    row.remove_prefix(std::min(row.find_first_not_of(kGaps), row.size()));
    const bool is_there = row.starts_with(expected);
    if (is_there) row.remove_prefix(expected.size());
    return is_there;
  };
  if (!skip("{") || !skip("\"name\"") || !skip(":") || !skip("\"")) return {};
  const std::string_view name = row.substr(0, row.find('"'));
  return name.find('\\') == std::string_view::npos ? name : std::string_view();
}

/// The quote that ends the text that one begins; npos: none does.
std::size_t end_of_text(std::string_view json, std::size_t quote) {
  const auto is_escaped = [json](std::size_t i) {
    std::size_t slashes = 0;
    while (json[i - 1 - slashes] == '\\') ++slashes;
    return slashes % 2 == 1;
  };
  std::size_t end = json.find('"', quote + 1);
  while (end != std::string_view::npos && is_escaped(end)) end = json.find('"', end + 1);
  return end;
}

}  // namespace

std::vector<CardRow> card_rows(std::string_view json) {
  constexpr int kDepthOfRows = 2;  // in the list, which is in the file's object
  std::vector<CardRow> rows;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') {
      i = end_of_text(json, i);
      if (i == std::string_view::npos) return {};
    } else if (c == '{' || c == '[') {
      if (depth++ == kDepthOfRows) begin = i;
    } else if ((c == '}' || c == ']') && --depth == kDepthOfRows) {
      const std::string_view row = json.substr(begin, i + 1 - begin);
      const std::string_view name = name_of(row);
      if (name.empty()) return {};
      rows.push_back({name, row});
    }
  }
  return rows;
}

}  // namespace vramfit
