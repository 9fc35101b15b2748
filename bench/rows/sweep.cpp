#include "bench/rows/sweep.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "estimator/data.h"
#include "model/config/json_reader.h"
#include "model/errors.h"
#include "model/text_file.h"

namespace vramfit::bench {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

const RowFamily& family_named(const JsonReader& json, const std::string& name) {
  if (const RowFamily* family = find_family(name)) return *family;
  std::string list;
  for (const RowFamily& family : families()) {
    list += (list.empty() ? "" : ", ") + std::string(family.name);
  }
  json.fail("family", "unknown '" + name + "'; one of " + list);
}

bool has(const RowFamily& family, Axis axis) {
  return std::find(family.axes.begin(), family.axes.end(), axis) != family.axes.end();
}

/// The family's axes as flags spell them, for messages.
std::string axis_list(const RowFamily& family) {
  std::string list;
  for (const Axis axis : family.axes)
    list += (list.empty() ? "" : ", ") + std::string(info(axis).flag);
  return list;
}

std::vector<std::string> read_values(const JsonReader& json, const Json& list, Axis axis,
                                     const std::string& source) {
  const char* flag = info(axis).flag;
  if (!list.is_array() || list.empty()) json.fail(flag, "not a list of values");
  std::vector<std::string> values;
  for (const Json& value : list) {
    const bool text = value.is_string();
    if (!text && !value.is_number_integer()) json.fail(flag, "values are strings or whole numbers");
    try {
      values.push_back(canonical(axis, text ? value.get<std::string>() : value.dump()));
    } catch (const BadInput& error) {
      throw BadInput(source + ": " + error.what());
    }
  }
  return values;
}

SweepEntry read_entry(const Json& object, const std::string& source) {
  if (!object.is_object()) throw BadInput(source + ": not a JSON object");
  const JsonReader json(object, source);
  SweepEntry entry{&family_named(json, json.text("family")), {}};
  for (const Axis axis : entry.family->axes) {
    const AxisInfo& of = info(axis);
    auto& values = entry.values[index(axis)];
    if (json.has(of.flag)) {
      values = read_values(json, object.at(of.flag), axis, source);
    } else if (*of.usual != '\0') {
      values = {of.usual};
    } else {
      json.fail(of.flag, "missing; a list of values");
    }
  }
  for (const auto& item : object.items()) {
    const auto axis = std::find_if(axes().begin(), axes().end(),
                                   [&](const AxisInfo& a) { return item.key() == a.flag; });
    const bool known =
        item.key() == "family" ||
        (axis != axes().end() && has(*entry.family, static_cast<Axis>(axis - axes().begin())));
    if (!known) {
      json.fail(item.key().c_str(), std::string("no axis of ") + entry.family->name + "; one of " +
                                        axis_list(*entry.family));
    }
  }
  return entry;
}

/// Every combination of the lists, the last axis fastest.
void add_product(Row& row, const AxisLists& lists, std::size_t axis, std::vector<Row>& rows) {
  if (axis == kAxes) {
    rows.push_back(row);
    return;
  }
  if (lists[axis].empty()) {
    add_product(row, lists, axis + 1, rows);
    return;
  }
  for (const std::string& value : lists[axis]) {
    row.values[axis] = value;
    add_product(row, lists, axis + 1, rows);
  }
}

/// Whether some axis, of those that are not replaced, is not at its usual value alone.
bool is_special(const SweepEntry& entry, const AxisLists& instead) {
  return std::any_of(entry.family->axes.begin(), entry.family->axes.end(), [&](Axis axis) {
    const std::string usual = info(axis).usual;
    const auto& values = entry.values[index(axis)];
    return !usual.empty() && instead[index(axis)].empty() && values != std::vector{usual};
  });
}

/// Whoever asks for other sizes asks for plain rows of them.
bool is_left_out(const SweepEntry& entry, const std::vector<SweepEntry>& entries,
                 const AxisLists& instead) {
  const auto& axes = entry.family->axes;
  const bool replaced = std::any_of(axes.begin(), axes.end(),
                                    [&](Axis axis) { return !instead[index(axis)].empty(); });
  return replaced && is_special(entry, instead) &&
         std::any_of(entries.begin(), entries.end(), [&](const SweepEntry& other) {
           return other.family == entry.family && !is_special(other, instead);
         });
}

}  // namespace

std::vector<SweepEntry> read_sweep(const std::filesystem::path& path) {
  return parse_sweep(read_text_file(path, "sweep", "a file such as data/sweep.json", kMaxBytes),
                     path.filename().string());
}

std::vector<SweepEntry> default_sweep() {
  return parse_sweep(data_text("sweep.json"), "sweep.json");
}

std::vector<SweepEntry> parse_sweep(const std::string& json_text, const std::string& source) {
  const Json object = parse_json_object(json_text, source, "a sweep such as data/sweep.json");
  const JsonReader json(object, source);
  json.integer("schema", 1, 1);
  const auto list = object.find("families");
  if (list == object.end() || !list->is_array())
    json.fail("families", "a list of entries is missing");
  std::vector<SweepEntry> entries;
  for (const Json& entry : *list) {
    entries.push_back(read_entry(entry, source + ": entry " + std::to_string(entries.size() + 1)));
  }
  return entries;
}

std::vector<Row> expand(const std::vector<SweepEntry>& entries, const AxisLists& instead) {
  std::vector<Row> all;
  for (const SweepEntry& entry : entries) {
    if (is_left_out(entry, entries, instead)) continue;
    AxisLists lists = entry.values;
    for (const Axis axis : entry.family->axes) {
      const auto& values = instead[index(axis)];
      if (!values.empty()) lists[index(axis)] = values;
    }
    Row row{entry.family, {}};
    add_product(row, lists, 0, all);
  }
  std::vector<Row> rows;
  std::set<std::string> seen;
  for (Row& row : all) {
    if (seen.insert(row.name()).second) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace vramfit::bench
