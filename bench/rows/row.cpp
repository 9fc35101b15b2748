#include "bench/rows/row.h"

#include <algorithm>

#include "bench/rows/families.h"
#include "bench/rows/list.h"
#include "model/errors.h"

namespace vramfit::bench {

std::string Row::name() const {
  std::string name = family->name;
  for (std::size_t i = 0; i < kAxes; ++i) {
    const AxisInfo& axis = axes()[i];
    const std::string& value = values[i];
    if (value.empty() || value == axis.usual) continue;
    name += "/";
    if (*axis.key != '\0') name.append(axis.key).append(":");
    name += value;
  }
  return name;
}

namespace {

[[noreturn]] void refuse(const std::string& name) {
  throw BadInput("row: '" + name + "' is none; --benchmark_list_tests shows how they are spelled");
}

/// Takes `part` where it is a value of `axis`.
bool take(Row& row, Axis axis, const std::string& part) {
  std::string key = info(axis).key;
  if (!key.empty()) key += ":";
  if (part.compare(0, key.size(), key) != 0) return false;
  row[axis] = canonical(axis, part.substr(key.size()));
  return true;
}

}  // namespace

Row parse_row(const std::string& name) {
  const std::vector<std::string> parts = split(name, '/');
  Row row;
  row.family = find_family(parts.front());
  if (row.family == nullptr) refuse(name);
  std::size_t next = 1;
  // A card stands in any row that is told to run on one.
  std::vector<Axis> order = row.family->axes;
  if (std::find(order.begin(), order.end(), Axis::Gpu) == order.end()) order.push_back(Axis::Gpu);
  std::sort(order.begin(), order.end());
  for (const Axis axis : order) {
    if (next < parts.size() && take(row, axis, parts[next])) {
      ++next;
    } else if (*info(axis).usual != '\0') {
      row[axis] = info(axis).usual;
    } else if (axis != Axis::Gpu) {
      refuse(name);
    }
  }
  if (next != parts.size()) refuse(name);
  return row;
}

}  // namespace vramfit::bench
