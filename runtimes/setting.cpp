#include "runtimes/setting.h"

#include <algorithm>

#include "model/errors.h"

namespace vramfit {

const Setting* find(const Settings& settings, std::string_view name) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& setting) { return setting.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

std::vector<Offer> plain_precision_offers() {
  return {{"", "as its config says"}, {"bf16", "bf16"}, {"fp16", "fp16"}, {"fp32", "fp32"}};
}

std::vector<Offer> with_default(std::vector<Offer> offers, std::string_view usual) {
  const auto first = std::find_if(offers.begin(), offers.end(),
                                  [&](const Offer& offer) { return offer.value == usual; });
  std::rotate(offers.begin(), first, first + 1);
  offers.front().value.clear();
  return offers;
}

bool is_astray(const Setting& setting, const Flags& flags, bool training) {
  const auto other = training ? Setting::With::Inference : Setting::With::Training;
  return setting.with == other || (setting.needs != nullptr && !setting.needs->met(flags));
}

const char* said_instead(const Settings& settings, const Flags& flags, std::string_view name) {
  for (const Setting& setting : settings) {
    const auto& others = setting.instead_of;
    if (!has(flags, setting.name)) continue;
    if (std::find(others.begin(), others.end(), name) != others.end()) return setting.name;
  }
  return nullptr;
}

void require_sense(const Settings& settings, const Flags& flags) {
  for (const Setting& setting : settings) {
    const auto value = typed(flags, setting.name);
    if (!value) continue;
    const std::vector<std::string>& choices = setting.choices;
    if (!choices.empty() && std::find(choices.begin(), choices.end(), *value) == choices.end()) {
      throw BadInput(std::string(setting.name) + ": unknown '" + *value + "'; " + one_of(choices));
    }
    if (setting.needs != nullptr && !setting.needs->met(flags)) {
      throw BadInput(std::string(setting.name) + ": only with " + setting.needs->what);
    }
    if (const char* instead = said_instead(settings, flags, setting.name)) {
      throw BadInput(std::string(setting.name) + ": --" + instead +
                     " says it in another measure; one of the two");
    }
  }
}

namespace {

std::string listed(const std::vector<std::string>& names, const char* last) {
  std::string list;
  for (const std::string& name : names) {
    list += (list.empty() ? "" : name == names.back() ? last : ", ") + name;
  }
  return list;
}

}  // namespace

std::string one_of(const std::vector<std::string>& names) { return listed(names, " or "); }

std::string all_of(const std::vector<std::string>& names) { return listed(names, " and "); }

}  // namespace vramfit
