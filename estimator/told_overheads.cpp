#include "estimator/told_overheads.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/cards.h"
#include "estimator/data.h"
#include "model/config/json_reader.h"
#include "model/errors.h"

namespace vramfit {

/// Reads the file's parts.
struct ToldReader {
  using Span = ToldOverheads::Span;
  using Own = ToldOverheads::Own;

  static constexpr double kMostBytes = 1e12;
  static constexpr std::int64_t kMostReports = 1'000'000;

  static JsonReader member(const JsonReader& json, const char* key) {
    auto found = json.object(key);
    if (!found) json.fail(key, "missing");
    return *std::move(found);
  }

  static Span span(const JsonReader& json, const char* key) {
    const JsonReader entry = member(json, key);
    const double least = entry.number("least", 0, kMostBytes);
    return {least, entry.number("most", least, kMostBytes),
            static_cast<int>(entry.integer_or("reports", 0, 1, kMostReports))};
  }

  static std::optional<Span> own_span(const JsonReader& json, const char* key) {
    if (!json.has(key)) return std::nullopt;
    return span(json, key);
  }

  static Own own(const nlohmann::json& object, const std::string& source) {
    if (!object.is_object()) throw BadInput(source + ": not a JSON object");
    const JsonReader json(object, source);
    allow_only(json, object, {"name", "driver_reserved", "beside"});
    return {json.text("name"), own_span(json, "driver_reserved"), own_span(json, "beside")};
  }

  static ToldOverheads read(const nlohmann::json& object, const std::string& source) {
    const JsonReader json(object, source);
    allow_only(json, object, {"schema", "source", "measured", "any", "cards"});
    json.integer("schema", 1, 1);
    require_source(json);
    ToldOverheads told;
    told.measured_ = span(json, "measured");
    if (told.measured_.least <= 0) json.fail("measured", "least is 0; bytes");
    const JsonReader any = member(json, "any");
    told.driver_ = span(any, "driver_reserved");
    told.beside_ = span(any, "beside");
    told.beside_a_multiprocessor_ = span(any, "beside_a_multiprocessor");
    const auto cards = object.find("cards");
    if (cards == object.end() || !cards->is_array()) json.fail("cards", "a list is missing");
    for (const nlohmann::json& entry : *cards) {
      told.cards_.push_back(own(entry, source + ": cards"));
    }
    return told;
  }
};

ToldOverheads ToldOverheads::parse(const std::string& json_text, const std::string& source) {
  return ToldReader::read(parse_json_object(json_text, source, "ranges of cards' overheads"),
                          source);
}

OverheadDoubt ToldOverheads::doubt_of(std::string_view card, std::optional<int> multiprocessors,
                                      const Overhead& assumed) const {
  Span driver = driver_;
  Span beside = beside_;
  if (multiprocessors) {
    beside.least = beside_a_multiprocessor_.least * *multiprocessors;
    beside.most = beside_a_multiprocessor_.most * *multiprocessors;
  }
  const auto own =
      std::find_if(cards_.begin(), cards_.end(), [&](const Own& one) { return one.card == card; });
  if (own != cards_.end()) {
    if (own->driver) driver = *own->driver;
    if (own->beside) beside = *own->beside;
  }
  const auto reserved = static_cast<double>(assumed.driver_reserved);
  OverheadDoubt doubt;
  doubt.driver_less = static_cast<std::uint64_t>(std::max(0.0, reserved - driver.least));
  doubt.driver_more = static_cast<std::uint64_t>(std::max(0.0, driver.most - reserved));
  // Of which process a report is, nobody says: of one that had loaded as little as any, or all.
  doubt.beside_less = std::max(0.0, 1 - beside.least / measured_.most);
  doubt.beside_more = std::max(0.0, beside.most / measured_.least - 1);
  doubt.reports = std::min(driver.reports, beside.reports);
  return doubt;
}

const ToldOverheads& told_overheads() {
  static const ToldOverheads told =
      ToldOverheads::parse(data_text("overheads.json"), "overheads.json");
  return told;
}

}  // namespace vramfit
