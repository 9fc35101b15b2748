#include "estimator/ask/astray.h"

#include <algorithm>

#include "estimator/ask/spellings.h"
#include "estimator/runtimes.h"

namespace vramfit {
namespace {

/// A setting of whichever runtime has one of that name; null where it is no setting.
const Setting* of_any(const std::string& name) {
  for (const Runtime* runtime : runtimes()) {
    if (const Setting* setting = find(runtime->settings(), name)) return setting;
  }
  return nullptr;
}

}  // namespace

std::map<std::string, std::string> astray(const OwnFlags& flags) {
  const auto named = typed(flags, "runtime");
  const Runtime& runtime = named ? runtime_named(*named) : default_runtime();
  std::map<std::string, std::string> found;
  for (const auto& [name, value] : flags) {
    const Setting* any = of_any(name);
    if (any == nullptr) continue;
    const Setting* setting = find(runtime.settings(), name);
    if (setting == nullptr) {
      found[name] = any->needs == nullptr ? "runtime" : "needs";
    } else if (is_astray(*setting, flags, has(flags, "train"))) {
      found[name] = setting->needs == nullptr || setting->needs->met(flags) ? "task" : "needs";
    }
  }
  return found;
}

std::vector<std::string> switches() {
  std::vector<std::string> names = own_switches();
  for (const Runtime* runtime : runtimes()) {
    for (const Setting& setting : runtime->settings()) {
      if (setting.takes == Setting::Takes::Nothing) names.emplace_back(setting.name);
    }
  }
  return names;
}

}  // namespace vramfit
