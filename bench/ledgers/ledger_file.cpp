#include "bench/ledgers/ledger_file.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/ledgers/gzip.h"
#include "model/config/json_reader.h"
#include "model/errors.h"
#include "model/memory/layer_name.h"
#include "model/printable.h"
#include "model/text_file.h"

namespace vramfit::bench {
namespace {

using Json = nlohmann::json;

constexpr const char* kExpected = "a ledger that bench --ledgers wrote";
constexpr std::size_t kMostPacked = std::size_t{64} << 20;
constexpr std::size_t kMostBytes = std::size_t{32} << 20;

/// A letter for each kind of event, in the enum's order.
constexpr const char* kKinds = "BEAFXR";
/// One for each stage and category, in their order.
constexpr char kFirst = 'a';

char letter(std::size_t index) { return static_cast<char>(kFirst + static_cast<char>(index)); }

/// Where an event's tensor is likely to lie: where the last layer's of its name does as it is
/// allocated, where it itself was put later on. What is written down is how far from there it is,
/// which is the same in most layers.
class Places {
 public:
  std::uint64_t expected(const KeptEvent& e) const {
    const auto found = last_.find(key(e));
    return found == last_.end() ? 0 : found->second;
  }
  void note(const KeptEvent& e) {
    if (e.kind != Event::Kind::Allocate) return;
    last_[e.name] = last_[key(e)] = e.offset;
  }

 private:
  static std::string key(const KeptEvent& e) {
    return e.kind == Event::Kind::Allocate ? "*." + layer_name(e.name).base : e.name;
  }

  std::map<std::string, std::uint64_t> last_;
};

/// The columns of the events: what repeats from layer to layer repeats in them.
Json columns(const std::vector<KeptEvent>& events) {
  std::string kinds;
  std::string stages;
  std::string categories;
  Json json = {{"tensors", Json::array()},  {"tensor", Json::array()},   {"layer", Json::array()},
               {"step", Json::array()},     {"bytes", Json::array()},    {"offset", Json::array()},
               {"reserved", Json::array()}, {"requested", Json::array()}};
  std::map<std::string, std::size_t> known;
  std::uint64_t reserved = 0;
  Places places;
  for (const KeptEvent& e : events) {
    kinds += kKinds[static_cast<std::size_t>(e.kind)];
    stages += letter(static_cast<std::size_t>(e.stage));
    categories += letter(static_cast<std::size_t>(e.category));
    const LayerName name = layer_name(e.name);
    const auto [tensor, fresh] = known.emplace(name.base, known.size());
    if (fresh) json["tensors"].push_back(name.base);
    json["tensor"].push_back(tensor->second);
    json["layer"].push_back(name.layer);
    json["step"].push_back(e.step);
    json["bytes"].push_back(e.bytes);
    json["offset"].push_back(static_cast<std::int64_t>(e.offset - places.expected(e)));
    places.note(e);
    // It seldom changes.
    json["reserved"].push_back(static_cast<std::int64_t>(e.reserved - reserved));
    reserved = e.reserved;
    json["requested"].push_back(e.requested == e.bytes ? Json(nullptr) : Json(e.requested));
  }
  json["kind"] = kinds;
  json["stage"] = stages;
  json["category"] = categories;
  return json;
}

/// Reads columns back; every fault is one of the file.
class Columns {
 public:
  Columns(const Json& json, const std::string& source) : json_(json), source_(source) {
    kinds_ = text("kind");
    stages_ = text("stage");
    categories_ = text("category");
  }

  std::vector<KeptEvent> events() {
    std::vector<KeptEvent> events;
    std::uint64_t reserved = 0;
    Places places;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      KeptEvent e{};
      e.kind = static_cast<Event::Kind>(place(kKinds, kinds_[i]));
      e.stage = static_cast<Stage>(ordinal(stages_, i, kLedgerStageNames.size()));
      e.category = static_cast<Category>(ordinal(categories_, i, kCategories));
      e.step = static_cast<int>(number("step", i));
      const Json& tensors = column("tensors");
      const auto tensor = static_cast<std::size_t>(number("tensor", i));
      if (tensor >= tensors.size() || !tensors[tensor].is_string()) fail("tensor");
      e.name = LayerName{printable(tensors[tensor].get<std::string>()),
                         static_cast<int>(number("layer", i))}
                   .text();
      e.bytes = static_cast<std::uint64_t>(number("bytes", i));
      e.offset = places.expected(e) + static_cast<std::uint64_t>(number("offset", i));
      places.note(e);
      reserved += static_cast<std::uint64_t>(number("reserved", i));
      e.reserved = reserved;
      e.requested = at("requested", i).is_null()
                        ? e.bytes
                        : static_cast<std::uint64_t>(number("requested", i));
      events.push_back(std::move(e));
    }
    return events;
  }

 private:
  [[noreturn]] void fail(const std::string& key) const {
    throw BadInput(source_ + ": events: " + key + ": is damaged; " + kExpected);
  }
  const Json& column(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_array()) fail(key);
    return *found;
  }
  std::string text(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_string()) fail(key);
    return *found;
  }
  const Json& at(const char* key, std::size_t i) const {
    const Json& values = column(key);
    if (i >= values.size()) fail(key);
    return values[i];
  }
  std::int64_t number(const char* key, std::size_t i) const {
    const Json& value = at(key, i);
    if (!value.is_number_integer()) fail(key);
    return value.get<std::int64_t>();
  }
  std::size_t place(const std::string& letters, char c) const {
    const std::size_t found = letters.find(c);
    if (found == std::string::npos) fail("kind");
    return found;
  }
  std::size_t ordinal(const std::string& letters, std::size_t i, std::size_t count) const {
    if (i >= letters.size() || letters[i] < kFirst) fail("stage");
    const auto found = static_cast<std::size_t>(letters[i] - kFirst);
    if (found >= count) fail("stage");
    return found;
  }

  const Json& json_;
  const std::string& source_;
  std::string kinds_;
  std::string stages_;
  std::string categories_;
};

}  // namespace

std::string packed(const LedgerFile& file) {
  Json segments = Json::array();
  for (const SegmentChange& s : file.ledger.segments) {
    segments.push_back({s.event, s.offset, s.bytes});
  }
  Json json = {{"schema", 1},
               {"row", file.row},
               {"evidence", file.measured ? "measured" : "predicted"},
               {"events", columns(file.ledger.events)},
               {"segments", segments}};
  if (!file.ledger.host.empty()) json["host"] = columns(file.ledger.host);
  return gzip(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

LedgerFile unpacked(const std::string& bytes, const std::string& source) {
  const Json object = parse_json_object(gunzip(bytes, source, kMostBytes), source, kExpected);
  const JsonReader json(object, source);
  json.integer("schema", 1, 1);
  LedgerFile file;
  file.row = json.text("row");
  file.measured = json.one_of("evidence", {"measured", "predicted"}) == "measured";
  if (!json.object("events")) json.fail("events", "missing; " + std::string(kExpected));
  file.ledger.events = Columns(object.at("events"), source).events();
  if (json.object("host")) file.ledger.host = Columns(object.at("host"), source).events();
  for (const Json& change : object.value("segments", Json::array())) {
    if (!change.is_array() || change.size() != 3 || !change[0].is_number_unsigned() ||
        !change[1].is_number_unsigned() || !change[2].is_number_integer()) {
      throw BadInput(source + ": segments: is damaged; " + kExpected);
    }
    file.ledger.segments.push_back({change[0], change[1], change[2]});
  }
  return file;
}

std::filesystem::path ledger_path(const std::filesystem::path& folder, const std::string& row) {
  std::string name = row;
  std::replace(name.begin(), name.end(), '/', '_');
  std::replace(name.begin(), name.end(), ':', '-');
  return folder / (name + ".json.gz");
}

LedgerFile read_ledger(const std::filesystem::path& path) {
  return unpacked(read_text_file(path, "ledgers", kExpected, kMostPacked), path.string());
}

}  // namespace vramfit::bench
