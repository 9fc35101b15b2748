#include "standin/calls/answers.h"

#include <algorithm>

namespace vramfit::standin {

const void* Library::find(std::string_view name) const {
  for (const auto& table : answers) {
    const auto found = std::find_if(table.begin(), table.end(),
                                    [name](const Answer& a) { return a.name == name; });
    if (found != table.end()) return found->function;
  }
  return nullptr;
}

bool Library::is_silent(std::string_view name) const {
  if (silent.size() == 1 && silent[0] == "*") return true;
  return std::find(silent.begin(), silent.end(), name) != silent.end();
}

}  // namespace vramfit::standin
