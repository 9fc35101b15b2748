#include "web/wasm/catalogue.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/ask/astray.h"
#include "estimator/cards.h"
#include "estimator/models.h"
#include "estimator/runtimes.h"
#include "estimator/version.h"
#include "model/config/families.h"
#include "model/transformer/parameters.h"
#include "runtimes/runtime.h"

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

Json runtimes_of(const ModelConfig& model) {
  Json names = Json::array();
  for (const FamilyReader& family : families()) {
    if (family.model_type != model.family) continue;
    for (const Runtime* runtime : runtimes()) {
      if (runtime->runs(family)) names.push_back(runtime->name());
    }
  }
  return names;
}

Json models_json() {
  Json list = Json::array();
  for (const std::string& name : model_names()) {
    const ModelConfig model = model_named(name);
    list.push_back({{"name", name},
                    {"family", model.family},
                    {"parameters", parameter_count(model)},
                    {"positions", model.max_positions},
                    {"runtimes", runtimes_of(model)}});
  }
  return list;
}

Json cards_json() {
  std::vector<const Card*> sorted;
  for (const Card& card : cards()) sorted.push_back(&card);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Card* a, const Card* b) { return a->vram < b->vram; });
  Json list = Json::array();
  for (const Card* card : sorted) {
    list.push_back({{"name", card->name},
                    {"title", card->title},
                    {"vram", card->vram},
                    {"measured", !card->overhead_assumed}});
  }
  return list;
}

}  // namespace

std::string catalogue() {
  const Json json = {{"version", kVersionLine},
                     {"models", models_json()},
                     {"cards", cards_json()},
                     {"switches", switches()}};
  return json.dump();
}

}  // namespace vramfit
