#include "model/config/keys.h"

#include <algorithm>
#include <unordered_map>

#include "model/printable.h"

namespace vramfit {
namespace {

constexpr std::size_t kNamedKeys = 4;
constexpr std::size_t kShownKeyBytes = 40;

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

/// The words of `list`, with a space between two.
std::vector<std::string_view> words(std::string_view list) {
  std::vector<std::string_view> result;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    result.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return result;
}

bool holds_for(const KeyRow& row, std::string_view family) {
  const std::vector<std::string_view> families = words(row.families);
  return families.empty() || std::find(families.begin(), families.end(), family) != families.end();
}

/// A word of a row's keys.
struct Entry {
  std::string_view key;
  const KeyRow* row;
};

/// The table's rows by their keys.
struct Index {
  std::unordered_map<std::string_view, std::vector<Entry>> keys;
  std::vector<Entry> patterns;

  Index() {
    for (const KeyRow& row : config_keys()) {
      for (const std::string_view key : words(row.keys)) {
        const bool plain = key.find('*') == std::string_view::npos;
        (plain ? keys[key] : patterns).push_back({key, &row});
      }
    }
  }
};

}  // namespace

const KeyRow* find_row(std::string_view key, std::string_view family) {
  static const Index index;
  const auto first = [&](const std::vector<Entry>& entries) -> const KeyRow* {
    for (const Entry& entry : entries) {
      if (matches(entry.key, key) && holds_for(*entry.row, family)) return entry.row;
    }
    return nullptr;
  };
  const auto plain = index.keys.find(key);
  const KeyRow* row = plain == index.keys.end() ? nullptr : first(plain->second);
  return row != nullptr ? row : first(index.patterns);
}

void refuse_keys(const JsonReader& json, std::string_view family) {
  for (const std::string& key : json.keys()) {
    const KeyRow* row = find_row(key, family);
    if (row == nullptr || row->use != KeyRow::Use::Refused) continue;
    const std::string value = json.shown(key);
    if (value == row->usual) continue;
    if (row->usual == "null") json.fail(key.c_str(), row->what);
    json.fail(key.c_str(), "is " + value + "; only " + std::string(row->usual) + " is supported");
  }
}

std::vector<std::string> notes_on_keys(const JsonReader& json, std::string_view family) {
  std::vector<std::string> notes;
  std::vector<std::string> unknown;
  for (const std::string& key : json.keys()) {
    const KeyRow* row = find_row(key, family);
    if (row == nullptr) {
      unknown.push_back(shortened(key, kShownKeyBytes));
    } else if (row->use == KeyRow::Use::Noted && json.shown(key) != row->usual) {
      notes.push_back(key + " is " + json.shown(key) + " in the config: " + row->what);
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
