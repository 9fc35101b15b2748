// GPUs without CUDA, of which sizes alone are known: data/other_gpus.json.
#include <nlohmann/json.hpp>

#include "estimator/cards.h"
#include "estimator/data.h"
#include "model/config/json_reader.h"
#include "model/errors.h"

namespace vramfit {
namespace {

constexpr std::int64_t kSchema = 1;
constexpr std::int64_t kMostMemory = std::int64_t{1} << 50;
/// Rules that ask for a compute capability get an A100's.
constexpr int kLikeSm = 80;
constexpr int kLikeMultiprocessors = 108;

Platform read_platform(const JsonReader& json) {
  const std::string name = json.text("platform");
  for (const Platform platform : {Platform::Rocm, Platform::Metal}) {
    if (name == key_of(platform)) return platform;
  }
  json.fail("platform", "is '" + name + "'; rocm or metal");
}

Card read_card(const nlohmann::json& object, const std::string& source) {
  if (!object.is_object()) throw BadInput(source + ": not a JSON object");
  const JsonReader json(object, source);
  allow_only(json, object, {"name", "title", "other_titles", "platform", "memory"});
  Card card;
  card.name = json.text("name");
  card.title = json.text("title");
  if (json.has("other_titles")) card.other_titles = json.texts("other_titles");
  card.platform = read_platform(json);
  card.arch = {kLikeSm};
  card.multiprocessors = kLikeMultiprocessors;
  card.vram = static_cast<std::uint64_t>(
      sourced(json, object, "memory", "value").integer("value", 1, kMostMemory));
  // Nothing is known of it but that it is not nothing: it may be as much as CUDA's.
  card.overhead.source =
      "not known of " + std::string(name(card.platform)) + "; it may be as much as CUDA's";
  card.overhead.range = card_of_size(card.vram).overhead.total();
  return card;
}

}  // namespace

const std::vector<Card>& other_cards() {
  static const std::vector<Card> list = [] {
    const std::string source = "other_gpus.json";
    const nlohmann::json object =
        parse_json_object(data_text(source), source, "the catalogue of GPUs without CUDA");
    const JsonReader json(object, source);
    allow_only(json, object, {"schema", "cards"});
    json.integer("schema", kSchema, kSchema);
    std::vector<Card> cards;
    for (const nlohmann::json& entry : object.at("cards")) {
      cards.push_back(read_card(entry, source + ": card " + std::to_string(cards.size() + 1)));
    }
    return cards;
  }();
  return list;
}

}  // namespace vramfit
