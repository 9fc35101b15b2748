#include "estimator/cards.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "estimator/card_rows.h"
#include "estimator/data.h"
#include "estimator/names.h"
#include "estimator/runtimes.h"
#include "estimator/told_overheads.h"
#include "model/config/json_reader.h"
#include "model/errors.h"
#include "model/memory/pool.h"

namespace vramfit {
namespace {

constexpr const char* kCatalogue = "gpus.json";
constexpr std::int64_t kSchema = 3;
constexpr std::int64_t kMaxOverheadBytes = std::int64_t{1} << 60;
constexpr std::int64_t kMaxMultiprocessors = 1024;
constexpr std::int64_t kMaxL2Bytes = std::int64_t{1} << 30;
constexpr std::int64_t kMaxClockKhz = 100'000'000;
constexpr std::int64_t kMaxBusBits = 65'536;
constexpr std::int64_t kMaxPciId = 0xffff;

std::uint64_t sourced_bytes(const JsonReader& json, const nlohmann::json& object, const char* key,
                            const char* value_key, std::int64_t at_least) {
  const JsonReader entry = sourced(json, object, key, value_key);
  return static_cast<std::uint64_t>(entry.integer(value_key, at_least, kMaxOverheadBytes));
}

Flops read_flops(const JsonReader& json, const nlohmann::json& object) {
  allow_only(json, object,
             {"fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8", "int4", "source"});
  require_source(json);
  Flops flops;
  for (const auto& item : object.items()) {
    if (item.key() == "source") continue;
    flops[item.key()] = json.number(item.key().c_str(), 1e9, 1e18);
  }
  if (flops.count("fp32") == 0) json.fail("fp32", "missing; FLOP/s outside tensor cores");
  return flops;
}

std::optional<int> known_integer(const JsonReader& json, const char* key, std::int64_t at_most) {
  if (!json.has(key)) return std::nullopt;
  return static_cast<int>(json.integer(key, 1, at_most));
}

Traits read_traits(const JsonReader& json, const nlohmann::json& object) {
  allow_only(
      json, object,
      {"l2_bytes", "clock_khz", "memory_bus_bits", "pci_device", "ecc", "integrated", "source"});
  require_source(json);
  Traits traits;
  traits.l2_bytes = known_integer(json, "l2_bytes", kMaxL2Bytes);
  traits.clock_khz = known_integer(json, "clock_khz", kMaxClockKhz);
  traits.memory_bus_bits = known_integer(json, "memory_bus_bits", kMaxBusBits);
  traits.pci_device = known_integer(json, "pci_device", kMaxPciId);
  if (json.has("ecc")) traits.ecc = json.boolean_or("ecc", false);
  traits.integrated = json.boolean_or("integrated", false);
  return traits;
}

/// Throws BadInput where no runtime of that name reads such a part.
void require_part(const JsonReader& json, const Runtime& runtime, const std::string& part) {
  const std::vector<std::string_view>& known = runtime.can().measured_parts;
  if (std::find(known.begin(), known.end(), part) != known.end()) return;
  json.fail(part.c_str(), std::string("no part of ") + runtime.name() + "'s; " +
                              one_of({known.begin(), known.end()}));
}

RuntimeOverhead read_runtime(const nlohmann::json& object, const std::string& source) {
  if (!object.is_object()) throw BadInput(source + ": not a JSON object");
  const JsonReader json(object, source);
  allow_only(json, object, {"runtime", "release", "parts"});
  const auto parts = json.object("parts");
  if (!parts) json.fail("parts", "missing; what each was measured to take");
  RuntimeOverhead row{json.text("runtime"), json.has("release") ? json.text("release") : "", {}};
  const Runtime* runtime = find_runtime(row.runtime);
  if (runtime == nullptr) {
    json.fail("runtime", "is '" + row.runtime + "'; " + one_of(runtime_names()));
  }
  for (const auto& part : object.at("parts").items()) {
    require_part(*parts, *runtime, part.key());
    row.parts[part.key()] =
        sourced_bytes(*parts, object.at("parts"), part.key().c_str(), "bytes", 0);
  }
  return row;
}

/// What processes of runtimes take, a row each.
std::shared_ptr<const std::vector<RuntimeOverhead>> read_runtimes(const JsonReader& json,
                                                                  const nlohmann::json& object) {
  if (!object.contains("runtimes")) return nullptr;
  const nlohmann::json& entries = object.at("runtimes");
  if (!entries.is_array()) json.fail("runtimes", "is no list of runtimes");
  auto rows = std::make_shared<std::vector<RuntimeOverhead>>();
  for (const nlohmann::json& entry : entries) {
    rows->push_back(read_runtime(entry, json.source() + ": runtimes"));
  }
  return rows;
}

Card read_card(const nlohmann::json& object, const std::string& source) {
  if (!object.is_object()) throw BadInput(source + ": not a JSON object");
  const JsonReader json(object, source);
  allow_only(json, object,
             {"name", "title", "other_titles", "also", "arch", "multiprocessors", "total_bytes",
              "bandwidth", "flops", "traits", "overhead", "stands_for_sizes", "article_vram_gb"});
  Card card;
  card.name = json.text("name");
  card.title = json.text("title");
  if (json.has("other_titles")) card.other_titles = json.texts("other_titles");
  if (json.has("also")) card.also = json.texts("also");
  card.arch = read_arch(json, "arch");
  card.multiprocessors = static_cast<int>(
      sourced(json, object, "multiprocessors", "value").integer("value", 1, kMaxMultiprocessors));
  card.vram = sourced_bytes(json, object, "total_bytes", "value", 1);
  card.bandwidth = static_cast<double>(
      sourced_bytes(json, object, "bandwidth", "bytes_per_second", 1'000'000'000));
  const auto flops = json.object("flops");
  if (!flops) json.fail("flops", "missing");
  card.flops = read_flops(*flops, object.at("flops"));
  if (const auto traits = json.object("traits")) {
    card.traits = read_traits(*traits, object.at("traits"));
  }
  card.stands_for_sizes = json.boolean_or("stands_for_sizes", false);
  if (json.has("article_vram_gb")) card.article_vram_gb = json.number("article_vram_gb", 0, 1e6);
  const auto overhead = json.object("overhead");
  if (!overhead) json.fail("overhead", "missing");
  card.overhead_assumed = overhead->has("assumed_from");
  if (!card.overhead_assumed) {
    card.overhead = read_overhead(*overhead, object.at("overhead"));
    if (!card.overhead.runtimes) overhead->fail("runtimes", "missing; what theirs take of it");
  }
  return card;
}

const Card* find(const std::vector<Card>& list, std::string_view name) {
  const auto it =
      std::find_if(list.begin(), list.end(), [&](const Card& card) { return card.name == name; });
  return it == list.end() ? nullptr : &*it;
}

/// Takes over the overhead of a card where it was measured. `named`: the card of a name, or null.
template <typename Named>
void assume_overhead(Card& card, const nlohmann::json& object, const Named& named,
                     const std::string& source) {
  const JsonReader json(object, source);
  allow_only(json, object, {"assumed_from"});
  const std::string measured = json.text("assumed_from");
  const Card* other = named(measured);
  if (other == nullptr || other->overhead_assumed) {
    json.fail("assumed_from",
              "is '" + measured + "'; the name of a card whose overhead was measured");
  }
  card.overhead = assumed(other->overhead, other->title);
  card.overhead.doubt = told_overheads().doubt_of(card.name, card.multiprocessors, card.overhead);
}

/// The catalogue, of which cards are read one by one.
class Catalogue {
 public:
  Catalogue() : text_(data_text(kCatalogue)), rows_(card_rows(text_)) {}

  /// As card_whose_name() has it.
  const Card* read(const IsName& is_name) {
    const CardRow* row = nullptr;
    for (const CardRow& each : rows_) {
      if (!is_name(each.name)) continue;
      if (row != nullptr) return nullptr;
      row = &each;
    }
    return row == nullptr ? nullptr : &read(*row);
  }

 private:
  const Card& read(const CardRow& row) {
    const std::lock_guard lock(mutex_);
    const auto known = cards_.find(row.name);
    if (known != cards_.end()) return known->second;
    const std::string source = std::string(kCatalogue) + ": " + std::string(row.name);
    const nlohmann::json object = parse_json_object(std::string(row.text), source, "a card");
    Card card = read_card(object, source);
    if (card.overhead_assumed) {
      const auto measured = [this](const std::string& name) {
        return read([&](std::string_view one) { return one == name; });
      };
      assume_overhead(card, object.at("overhead"), measured, source);
    }
    return cards_.emplace(row.name, std::move(card)).first->second;
  }

  std::string text_;
  std::vector<CardRow> rows_;
  std::recursive_mutex mutex_;
  std::map<std::string_view, Card> cards_;  ///< that were read
};

/// The card nearest in size of those that qualify; null where none does.
template <typename Qualifies>
const Card* nearest(std::uint64_t vram, const Qualifies& qualifies) {
  const auto distance = [vram](const Card& card) {
    return card.vram > vram ? card.vram - vram : vram - card.vram;
  };
  const Card* best = nullptr;
  for (const Card& card : cards()) {
    if (!qualifies(card)) continue;
    if (best == nullptr || distance(card) < distance(*best)) best = &card;
  }
  return best;
}

}  // namespace

void allow_only(const JsonReader& json, const nlohmann::json& object,
                std::initializer_list<const char*> keys) {
  for (const auto& item : object.items()) {
    const bool known =
        std::any_of(keys.begin(), keys.end(), [&](const char* key) { return item.key() == key; });
    if (!known) json.fail(item.key().c_str(), "unknown key");
  }
}

void require_source(const JsonReader& json) {
  if (json.text("source").empty()) json.fail("source", "is empty; where the figure is from");
}

JsonReader sourced(const JsonReader& json, const nlohmann::json& object, const char* key,
                   const char* value_key) {
  auto entry = json.object(key);
  if (!entry) json.fail(key, "missing");
  allow_only(*entry, object.at(key), {value_key, "source"});
  require_source(*entry);
  return *std::move(entry);
}

Arch read_arch(const JsonReader& json, const char* key) {
  const std::string text = json.text(key);
  const bool valid = text.size() >= 5 && text.size() <= 6 && text.compare(0, 3, "sm_") == 0 &&
                     text.find_first_not_of("0123456789", 3) == std::string::npos;
  if (!valid) json.fail(key, "is '" + text + "'; a compute capability such as sm_90");
  return Arch{std::stoi(text.substr(3))};
}

Overhead read_overhead(const JsonReader& json, const nlohmann::json& object) {
  allow_only(json, object,
             {"source", "range", "driver_reserved", "context", "cublaslt", "cudnn", "modules",
              "runtimes"});
  Overhead overhead;
  overhead.source = json.text("source");
  if (json.has("range")) overhead.range = sourced_bytes(json, object, "range", "bytes", 0);
  overhead.driver_reserved = sourced_bytes(json, object, "driver_reserved", "bytes", 0);
  overhead.context = sourced_bytes(json, object, "context", "bytes", 0);
  overhead.libraries = sourced_bytes(json, object, "cublaslt", "bytes", 0) +
                       sourced_bytes(json, object, "cudnn", "bytes", 0);
  if (json.has("modules")) overhead.libraries += sourced_bytes(json, object, "modules", "bytes", 0);
  overhead.runtimes = read_runtimes(json, object);
  return overhead;
}

Overhead assumed(Overhead overhead, const std::string& card) {
  if (overhead.assumed_from.empty()) overhead.assumed_from = card;
  const std::string mark = "assumed: ";
  if (overhead.source.compare(0, mark.size(), mark) != 0) {
    overhead.source = mark + "as " + overhead.source;
  }
  return overhead;
}

std::vector<Card> parse_cards(const std::string& json_text, const std::string& source) {
  const nlohmann::json object = parse_json_object(json_text, source, "the catalogue of cards");
  const JsonReader json(object, source);
  allow_only(json, object, {"schema", "cards"});
  json.integer("schema", kSchema, kSchema);
  const auto entries = object.find("cards");
  if (entries == object.end() || !entries->is_array() || entries->empty()) {
    json.fail("cards", "a list of cards is missing");
  }
  std::vector<Card> list;
  for (const nlohmann::json& entry : *entries) {
    const std::string place = source + ": card " + std::to_string(list.size() + 1);
    Card card = read_card(entry, place);
    if (find(list, card.name) != nullptr) throw BadInput(place + ": name: is there twice");
    list.push_back(std::move(card));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].overhead_assumed) continue;
    assume_overhead(
        list[i], entries->at(i).at("overhead"),
        [&](const std::string& name) { return find(list, name); }, source + ": " + list[i].name);
  }
  return list;
}

const std::vector<Card>& cards() {
  static const std::vector<Card> list = parse_cards(data_text(kCatalogue), kCatalogue);
  return list;
}

const Card* card_whose_name(const IsName& is_name) {
  if (!data_is_built_in()) return nullptr;  // other rows may be wrong, which is to be told
  static Catalogue catalogue;
  return catalogue.read(is_name);
}

const Card* card_titled(std::string_view title, std::uint64_t vram) {
  return nearest(vram, [title](const Card& card) {
    const std::vector<std::string>& others = card.other_titles;
    return card.title == title || std::find(others.begin(), others.end(), title) != others.end();
  });
}

const Card& card_like(Arch arch, std::uint64_t vram) {
  const Card* card = nearest(vram, [arch](const Card& one) { return one.arch.sm == arch.sm; });
  return card != nullptr ? *card : card_of_size(vram);
}

const Card& card_of_size(std::uint64_t vram) {
  const Card* card = nearest(vram, [](const Card& one) { return one.stands_for_sizes; });
  if (card == nullptr) throw BadInput("gpus.json: cards: none has stands_for_sizes true");
  return *card;
}

std::uint64_t pool_capacity(std::uint64_t vram, const Overhead& overhead, std::uint64_t set_aside,
                            std::uint64_t granularity) {
  // Subtracted one by one, so that no sum can wrap.
  std::uint64_t left = vram;
  for (const std::uint64_t part : {overhead.total(), set_aside}) {
    if (part >= left) return 0;
    left -= part;
  }
  return left / granularity * granularity;
}

}  // namespace vramfit
