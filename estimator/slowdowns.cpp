#include "estimator/slowdowns.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/cards.h"
#include "estimator/data.h"
#include "model/config/json_reader.h"
#include "model/errors.h"

namespace vramfit {
namespace {

constexpr double kMostTokens = 1e12;  ///< a second

/// `key` of the object, which `what` describes.
const nlohmann::json& member(const JsonReader& json, const nlohmann::json& object, const char* key,
                             const char* what) {
  const auto found = object.find(key);
  if (found == object.end() || !(found->is_object() || found->is_array()) || found->empty()) {
    json.fail(key, std::string(what) + " is missing");
  }
  return *found;
}

SpeedComparison read_comparison(const nlohmann::json& object, const std::string& source) {
  if (!object.is_object()) throw BadInput(source + ": not a JSON object");
  const JsonReader json(object, source);
  allow_only(json, object,
             {"runtime", "mode", "kind", "beside", "run", "file", "figure", "speeds"});
  SpeedComparison comparison;
  comparison.runtime = json.text("runtime");
  comparison.mode = json.one_of("mode", {"training", "decoding"});
  comparison.kind = json.text("kind");
  comparison.beside = json.is_null("beside") ? "" : json.text("beside");
  comparison.run = json.text("run");
  // Where it is from is for those who check it: tests/slowdowns_test.py.
  json.text("file");
  json.text("figure");
  const nlohmann::json& speeds =
      member(json, object, "speeds", "an object of each setting's speed");
  for (const auto& item : speeds.items()) {
    const std::string place = source + ": " + item.key();
    if (!item.value().is_object()) throw BadInput(place + ": not a JSON object");
    const JsonReader speed(item.value(), place);
    allow_only(speed, item.value(), {"row", "file", "tokens_per_second"});
    speed.text("row");
    comparison.speeds[item.key()] = speed.number("tokens_per_second", 1e-3, kMostTokens);
  }
  return comparison;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

std::optional<double> Slowdowns::of(const std::string& runtime, const std::string& mode,
                                    const SettingChange& change, const std::string& beside) const {
  std::vector<double> times;
  for (const SpeedComparison& comparison : comparisons) {
    const bool alike = comparison.runtime == runtime && comparison.mode == mode &&
                       comparison.kind == change.kind && comparison.beside == beside;
    if (!alike) continue;
    const auto from = comparison.speeds.find(change.from);
    const auto to = comparison.speeds.find(change.to);
    if (from == comparison.speeds.end() || to == comparison.speeds.end()) continue;
    times.push_back(from->second / to->second);
  }
  if (times.empty()) return std::nullopt;
  return median(std::move(times));
}

Slowdowns parse_slowdowns(const std::string& json_text, const std::string& source) {
  const nlohmann::json object =
      parse_json_object(json_text, source, "the table of measured speeds");
  const JsonReader json(object, source);
  allow_only(json, object, {"schema", "gpu", "comparisons"});
  json.integer("schema", 1, 1);
  Slowdowns result;
  result.gpu = json.text("gpu");
  for (const nlohmann::json& entry : member(json, object, "comparisons", "a list of comparisons")) {
    result.comparisons.push_back(read_comparison(
        entry, source + ": comparison " + std::to_string(result.comparisons.size() + 1)));
  }
  return result;
}

const Slowdowns& slowdowns() {
  static const Slowdowns all = parse_slowdowns(data_text("slowdowns.json"), "slowdowns.json");
  return all;
}

}  // namespace vramfit
