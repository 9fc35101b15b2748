#include "estimator/cards.h"

#include <algorithm>
#include <initializer_list>

#include "estimator/data_path.h"
#include "model/config/json_reader.h"
#include "model/errors.h"
#include "model/memory/pool.h"

namespace vramfit {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 60;

std::uint64_t sourced_bytes(const JsonReader& json, const Json& object, const char* key,
                            const char* value_key, std::int64_t at_least) {
  const auto entry = json.object(key);
  if (!entry) json.fail(key, "missing");
  allow_only(*entry, object.at(key), {value_key, "source"});
  if (entry->text("source").empty()) entry->fail("source", "is empty; where the figure is from");
  return static_cast<std::uint64_t>(entry->integer(value_key, at_least, kMaxBytes));
}

Arch parse_arch(const JsonReader& json) {
  const std::string text = json.text("arch");
  const bool valid = text.size() >= 5 && text.size() <= 6 && text.compare(0, 3, "sm_") == 0 &&
                     text.find_first_not_of("0123456789", 3) == std::string::npos;
  if (!valid) json.fail("arch", "is '" + text + "'; a compute capability such as sm_90");
  return Arch{std::stoi(text.substr(3))};
}

LibrarySizes read_libraries(const JsonReader& json, const Json& object) {
  allow_only(json, object,
             {"context", "cublas", "cublas_backward", "attention", "attention_backward"});
  LibrarySizes sizes;
  sizes.context = sourced_bytes(json, object, "context", "bytes", 0);
  sizes.blas = sourced_bytes(json, object, "cublas", "bytes", 0);
  sizes.backward_blas = sourced_bytes(json, object, "cublas_backward", "bytes", 0);
  sizes.attention = sourced_bytes(json, object, "attention", "bytes", 0);
  sizes.backward_attention = sourced_bytes(json, object, "attention_backward", "bytes", 0);
  return sizes;
}

Card read_card(const Json& object, const std::string& source) {
  if (!object.is_object()) throw BadInput(source + ": not a JSON object");
  const JsonReader json(object, source);
  allow_only(json, object, {"name", "title", "arch", "total_bytes", "overhead", "article_vram_gb"});
  Card card;
  card.name = json.text("name");
  card.title = json.text("title");
  card.arch = parse_arch(json);
  card.vram = sourced_bytes(json, object, "total_bytes", "value", 1);
  if (json.has("article_vram_gb")) card.article_vram_gb = json.number("article_vram_gb", 0, 1e6);
  const auto overhead = json.object("overhead");
  if (!overhead) json.fail("overhead", "missing");
  card.overhead_assumed = overhead->has("assumed_from");
  if (!card.overhead_assumed) card.overhead = read_overhead(*overhead, object.at("overhead"));
  return card;
}

const Card* find(const std::vector<Card>& list, std::string_view name) {
  const auto it =
      std::find_if(list.begin(), list.end(), [&](const Card& card) { return card.name == name; });
  return it == list.end() ? nullptr : &*it;
}

/// Takes over the overhead of a card where it was measured.
void assume_overhead(Card& card, const Json& object, const std::vector<Card>& list,
                     const std::string& source) {
  const JsonReader json(object, source);
  allow_only(json, object, {"assumed_from"});
  const Card* other = find(list, json.text("assumed_from"));
  if (other == nullptr || other->overhead_assumed) {
    json.fail("assumed_from", "is '" + json.text("assumed_from") +
                                  "'; the name of a card whose overhead was measured");
  }
  card.overhead = assumed(other->overhead);
}

}  // namespace

void allow_only(const JsonReader& json, const Json& object,
                std::initializer_list<const char*> keys) {
  for (const auto& item : object.items()) {
    const bool known =
        std::any_of(keys.begin(), keys.end(), [&](const char* key) { return item.key() == key; });
    if (!known) json.fail(item.key().c_str(), "unknown key");
  }
}

Overhead read_overhead(const JsonReader& json, const Json& object) {
  allow_only(json, object,
             {"source", "driver_reserved", "context", "cublaslt", "cudnn", "modules", "pytorch"});
  Overhead overhead;
  overhead.source = json.text("source");
  overhead.driver_reserved = sourced_bytes(json, object, "driver_reserved", "bytes", 0);
  overhead.context = sourced_bytes(json, object, "context", "bytes", 0);
  overhead.libraries = sourced_bytes(json, object, "cublaslt", "bytes", 0) +
                       sourced_bytes(json, object, "cudnn", "bytes", 0);
  if (json.has("modules")) overhead.libraries += sourced_bytes(json, object, "modules", "bytes", 0);
  if (const auto torch = json.object("pytorch")) {
    overhead.pytorch = read_libraries(*torch, object.at("pytorch"));
  }
  return overhead;
}

Overhead assumed(Overhead overhead) {
  const std::string mark = "assumed: ";
  if (overhead.source.compare(0, mark.size(), mark) != 0) {
    overhead.source = mark + "as " + overhead.source;
  }
  return overhead;
}

std::vector<Card> parse_cards(const std::string& json_text, const std::string& source) {
  const Json object = parse_json_object(json_text, source);
  const JsonReader json(object, source);
  allow_only(json, object, {"schema", "cards"});
  json.integer("schema", 1, 1);
  const auto entries = object.find("cards");
  if (entries == object.end() || !entries->is_array() || entries->empty()) {
    json.fail("cards", "a list of cards is missing");
  }
  std::vector<Card> list;
  for (const Json& entry : *entries) {
    const std::string place = source + ": card " + std::to_string(list.size() + 1);
    Card card = read_card(entry, place);
    if (find(list, card.name) != nullptr) throw BadInput(place + ": name: is there twice");
    list.push_back(std::move(card));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].overhead_assumed) continue;
    assume_overhead(list[i], entries->at(i).at("overhead"), list, source + ": " + list[i].name);
  }
  return list;
}

const std::vector<Card>& cards() {
  static const std::vector<Card> list = parse_cards(read_text(data_file("gpus.json")), "gpus.json");
  return list;
}

const Card& card_named(std::string_view name) {
  if (const Card* card = find(cards(), name)) return *card;
  std::string list;
  for (const Card& card : cards()) list += (list.empty() ? "" : ", ") + card.name;
  throw BadInput("gpu: unknown '" + std::string(name) + "'; one of " + list);
}

std::uint64_t pool_capacity(std::uint64_t vram, const Overhead& overhead, std::uint64_t headroom,
                            std::uint64_t granularity) {
  // Subtracted one by one, so that no sum can wrap.
  std::uint64_t left = vram;
  for (const std::uint64_t part : {overhead.total(), headroom}) {
    if (part >= left) return 0;
    left -= part;
  }
  return left / granularity * granularity;
}

}  // namespace vramfit
