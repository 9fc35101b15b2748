#include "web/wasm/catalogue.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "estimator/ask/astray.h"
#include "estimator/ask/runtimes_json.h"
#include "estimator/cards.h"
#include "estimator/models.h"
#include "estimator/runtimes.h"
#include "estimator/version.h"
#include "model/config/families.h"
#include "model/errors.h"
#include "model/transformer/parameters.h"

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

Json shape_json(const ModelConfig& model) {
  return {{"family", model.family},
          {"parameters", parameter_count(model)},
          {"positions", model.max_positions}};
}

/// Of a model that a runtime reads the shape of by itself, where that counts parameters.
Json own_shape_json(const ModelSource& source) {
  for (const std::string& name : readers_of(source)) {
    const std::optional<ModelConfig> model = runtime_named(name).read_model(source);
    if (model && model->taped) return shape_json(*model);
  }
  return Json::object();
}

/// Nothing where no runtime runs it.
std::optional<Json> model_json(const std::string& name) {
  const std::vector<std::string> run_by = runtimes_of(name);
  if (run_by.empty()) return std::nullopt;
  Json json = {{"name", name}};
  try {
    json.update(shape_json(model_named(name)));
  } catch (const UnreadModel& unread) {
    json.update(own_shape_json(*unread.source()));
  }
  json["runtimes"] = run_by;
  return json;
}

Json models_json() {
  Json list = Json::array();
  for (const auto& names : {model_names(), more_model_names(), shape_names()}) {
    for (const std::string& name : names) {
      if (std::optional<Json> model = model_json(name)) list.push_back(*std::move(model));
    }
  }
  return list;
}

std::vector<const Card*> by_size(const std::vector<Card>& cards) {
  std::vector<const Card*> sorted;
  for (const Card& card : cards) sorted.push_back(&card);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Card* a, const Card* b) { return a->vram < b->vram; });
  return sorted;
}

Json cards_json() {
  Json list = Json::array();
  for (const Card* card : by_size(cards())) {
    list.push_back({{"name", card->name},
                    {"title", card->title},
                    {"vram", card->vram},
                    {"measured", !card->overhead_assumed}});
  }
  return list;
}

/// Without CUDA: sizes.
Json other_cards_json() {
  Json list = Json::array();
  for (const Card* card : by_size(other_cards())) {
    list.push_back({{"name", card->name},
                    {"title", card->title},
                    {"vram", card->vram},
                    {"platform", name(card->platform)}});
  }
  return list;
}

/// Those that models of the page's list are for: recorded runs are files of people's own.
Json runtimes_of_models() {
  Json list = Json::array();
  for (const auto& one : runtimes_json()) {
    const Runtime& runtime = runtime_named(one.at("name").get<std::string>());
    const auto runs = [&](const FamilyReader& family) { return runtime.runs(family); };
    if (std::any_of(families().begin(), families().end(), runs)) list.push_back(one);
  }
  return list;
}

}  // namespace

std::string catalogue() {
  const Json json = {{"version", kVersionLine}, {"models", models_json()},
                     {"cards", cards_json()},   {"other_cards", other_cards_json()},
                     {"switches", switches()},  {"runtimes", runtimes_of_models()}};
  return json.dump();
}

}  // namespace vramfit
