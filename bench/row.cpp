#include "bench/row.h"

#include "bench/families.h"

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

}  // namespace vramfit::bench
