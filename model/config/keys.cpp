#include "model/config/keys.h"

#include <algorithm>

#include "model/printable.h"

namespace vramfit {
namespace {

constexpr std::size_t kNamedKeys = 4;
constexpr std::size_t kShownBytes = 40;

/// Whether `key` is `pattern`, whose "*" in front or behind stands for any text.
bool matches(std::string_view pattern, std::string_view key) {
  const bool open_front = pattern.starts_with('*');
  const bool open_back = pattern.ends_with('*');
  if (open_front) pattern.remove_prefix(1);
  if (open_back) pattern.remove_suffix(1);
  if (open_front && open_back) return key.find(pattern) != std::string_view::npos;
  if (open_front) return key.ends_with(pattern);
  return open_back ? key.starts_with(pattern) : key == pattern;
}

/// Whether a word of `list`, with spaces between them, matches.
bool any_matches(std::string_view list, std::string_view text) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (matches(list.substr(0, end), text)) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace

const KeyRow* find_row(std::string_view key, std::string_view family) {
  const std::span<const KeyRow> rows = config_keys();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const KeyRow& candidate) {
    return (candidate.families.empty() || any_matches(candidate.families, family)) &&
           any_matches(candidate.keys, key);
  });
  return row == rows.end() ? nullptr : &*row;
}

void refuse_keys(const JsonReader& json, std::string_view family) {
  for (const auto& [key, value] : json.entries()) {
    const KeyRow* row = find_row(key, family);
    if (row == nullptr || row->use != KeyRow::Use::Refused || value == row->usual) continue;
    if (row->usual == "null") json.fail(key.c_str(), row->what);
    json.fail(key.c_str(), "is " + value + "; only " + std::string(row->usual) + " is supported");
  }
}

std::vector<std::string> notes_on_keys(const JsonReader& json, std::string_view family) {
  std::vector<std::string> notes;
  std::vector<std::string> unknown;
  for (const auto& [key, value] : json.entries()) {
    const KeyRow* row = find_row(key, family);
    if (row == nullptr) {
      unknown.push_back(shortened(key, kShownBytes));
    } else if (row->use == KeyRow::Use::Noted && value != row->usual) {
      notes.push_back(key + " is " + value + " in the config: " + row->what);
    }
  }
  if (unknown.empty()) return notes;
  std::string list;
  for (std::size_t i = 0; i < std::min(unknown.size(), kNamedKeys); ++i) {
    list += (i == 0 ? "" : ", ") + unknown[i];
  }
  if (unknown.size() > kNamedKeys) {
    list += " and " + std::to_string(unknown.size() - kNamedKeys) + " more";
  }
  notes.push_back("passed over in the config, since nobody here knows it: " + list);
  return notes;
}

}  // namespace vramfit
