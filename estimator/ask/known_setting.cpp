#include "estimator/ask/known_setting.h"

#include "estimator/runtimes.h"

namespace vramfit {
namespace {

/// Its own, or where its runtime has none those of another that has such a setting.
auto spelling_of_values(const Setting& setting) {
  auto spelt = setting.canonical_value;
  for (const Runtime* runtime : runtimes()) {
    const Setting* same = find(runtime->settings(), setting.name);
    if (spelt == nullptr && same != nullptr) spelt = same->canonical_value;
  }
  return spelt;
}

}  // namespace

Known known(const Settings& settings, std::string_view name) {
  for (const Setting& setting : settings) {
    if (setting.name == name) return {&setting};
    for (const Spelling& spelling : setting.spellings) {
      if (spelling.name == name) return {&setting, &spelling};
    }
  }
  return {};
}

Known known(const Runtime& runtime, std::string_view name) {
  Known found = known(runtime.settings(), name);
  for (const Runtime* other : runtimes()) {
    if (found.setting == nullptr) found = known(other->settings(), name);
  }
  return found;
}

bool has_spelt_values(const Setting& setting) { return spelling_of_values(setting) != nullptr; }

std::string canonical_value(const Setting& setting, std::string_view flag,
                            const std::string& alias) {
  const auto spelt = spelling_of_values(setting);
  return spelt == nullptr ? alias : spelt(flag, alias);
}

}  // namespace vramfit
