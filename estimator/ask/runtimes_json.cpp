#include "estimator/ask/runtimes_json.h"

#include <nlohmann/json.hpp>

#include "estimator/runtimes.h"

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

const char* name(Setting::Takes takes) {
  switch (takes) {
    case Setting::Takes::Text:
      return "text";
    case Setting::Takes::Number:
      return "number";
    case Setting::Takes::List:
      return "list";
    case Setting::Takes::Truth:
      return "truth";
    case Setting::Takes::Nothing:
      break;
  }
  return "nothing";
}

Json task(Setting::With with) {
  if (with == Setting::With::Either) return nullptr;
  return with == Setting::With::Training ? "training" : "inference";
}

Json axis_json(const SearchAxis& axis) {
  return {{"name", axis.name},
          {"noun", axis.noun},
          {"before", axis.before},
          {"after", axis.after},
          {"of_positions", axis.of_positions},
          {"of_names", axis.of_names},
          {"step", axis.step}};
}

Json setting_json(const Setting& setting) {
  Json spellings = Json::array();
  for (const Spelling& spelling : setting.spellings) {
    spellings.push_back({{"name", spelling.name}, {"switch", spelling.sets != nullptr}});
  }
  Json offers = Json::array();
  for (const Offer& offer : setting.offers) {
    offers.push_back({{"value", offer.value}, {"title", offer.title}});
  }
  return {{"name", setting.name},         {"task", task(setting.with)},
          {"takes", name(setting.takes)}, {"choices", setting.choices},
          {"offers", std::move(offers)},  {"spellings", std::move(spellings)}};
}

}  // namespace

Json runtimes_json() {
  Json list = Json::array();
  for (const Runtime* runtime : runtimes()) {
    Json axes = Json::array();
    for (const SearchAxis& axis : runtime->axes()) axes.push_back(axis_json(axis));
    Json settings = Json::array();
    for (const Setting& setting : runtime->settings()) settings.push_back(setting_json(setting));
    list.push_back({{"name", runtime->name()},
                    {"training", runtime->can().no_training == nullptr},
                    {"advice", runtime->can().no_advice == nullptr},
                    {"formulas", runtime->can().no_formulas == nullptr},
                    {"timelines", runtime->can().no_timelines == nullptr},
                    {"machines", runtime->can().machines},
                    {"other_platforms", runtime->can().other_platforms},
                    {"axes", std::move(axes)},
                    {"settings", std::move(settings)}});
  }
  return list;
}

}  // namespace vramfit
