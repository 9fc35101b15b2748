#include "standin/calls/answers.h"

#include <algorithm>
#include <iterator>

namespace vramfit::standin {
namespace {

/// Whether a function gives something by address, by the words in its name.
bool may_give(std::string_view name) {
  constexpr std::string_view kWords[] = {"Create", "Get", "Size", "Nnz", "stimate", "Plan"};
  return given_by(name) || std::any_of(std::begin(kWords), std::end(kWords),
                                       [&](auto word) { return name.find(word) != name.npos; });
}

}  // namespace

const void* Library::find(std::string_view name) const {
  for (const auto& table : answers) {
    const auto found = std::find_if(table.begin(), table.end(),
                                    [name](const Answer& a) { return a.name == name; });
    if (found != table.end()) return found->function;
  }
  return nullptr;
}

bool Library::is_silent(std::string_view name) const {
  if (silent.size() == 1 && silent[0] == "*") return !may_give(name);
  return std::find(silent.begin(), silent.end(), name) != silent.end();
}

}  // namespace vramfit::standin
