#include "estimator/releases.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "estimator/cards.h"
#include "estimator/data.h"
#include "model/config/json_reader.h"
#include "model/errors.h"

namespace vramfit {
namespace {

using pytorch::Release;
using pytorch::Version;

/// "13.0" or "9.19.0".
Version parse_version(const JsonReader& json) {
  constexpr std::size_t kMostDigits = 4;
  const std::string text = json.text("version");
  std::array<int, 3> parts{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const char* const begin = at;
    const bool digit = at != end && *at >= '0' && *at <= '9';
    at = std::from_chars(at, std::min(at + kMostDigits, end), parts[i]).ptr;
    if (!digit || at == begin) break;
    if (at == end && i > 0) return {parts[0], parts[1], parts[2]};
    if (at == end || *at++ != '.') break;
  }
  json.fail("version", "is '" + text + "'; a version such as 2.11.0");
}

Version read_version(const JsonReader& json, const nlohmann::json& object, const char* library) {
  return parse_version(sourced(json, object, library, "version"));
}

Release read_release(const nlohmann::json& object, const std::string& source) {
  if (!object.is_object()) throw BadInput(source + ": not a JSON object");
  const JsonReader json(object, source);
  allow_only(json, object,
             {"name", "simulated", "torch", "transformers", "peft", "accelerate", "bitsandbytes",
              "cuda", "cudnn", "least_arch", "reserved_error", "int8_reserved_error"});
  Release release;
  release.name = json.text("name");
  const pytorch::ReleaseRules* rules = pytorch::rules_of(release.name);
  if (rules == nullptr) json.fail("name", "is '" + release.name + "', whose rules nobody derived");
  release.rules = *rules;
  release.simulated = json.boolean_or("simulated", false);
  release.torch = read_version(json, object, "torch");
  release.transformers = read_version(json, object, "transformers");
  release.peft = read_version(json, object, "peft");
  release.accelerate = read_version(json, object, "accelerate");
  release.bitsandbytes = read_version(json, object, "bitsandbytes");
  release.cuda = read_version(json, object, "cuda");
  release.cudnn = read_version(json, object, "cudnn");
  release.least_arch = read_arch(sourced(json, object, "least_arch", "value"), "value");
  release.reserved_error = sourced(json, object, "reserved_error", "value").number("value", 0, 1);
  release.int8_reserved_error =
      sourced(json, object, "int8_reserved_error", "value").number("value", 0, 1);
  release.tape = [](const std::string& model_type) -> std::optional<std::string> {
    // A file's name, where it may come from a config that nobody has checked.
    const std::string file = "tapes/" + model_type + ".tape";
    const bool is_name = model_type.find_first_of("/\\") == std::string::npos;
    if (!is_name || !has_data(file)) return std::nullopt;
    return data_text(file);
  };
  return release;
}

}  // namespace

std::vector<Release> parse_releases(const std::string& json_text, const std::string& source) {
  const nlohmann::json object = parse_json_object(json_text, source, "the table of releases");
  const JsonReader json(object, source);
  allow_only(json, object, {"schema", "releases"});
  json.integer("schema", 1, 1);
  const auto entries = object.find("releases");
  if (entries == object.end() || !entries->is_array() || entries->empty()) {
    json.fail("releases", "a list of releases is missing");
  }
  std::vector<Release> list;
  for (const nlohmann::json& entry : *entries) {
    const std::string place = source + ": release " + std::to_string(list.size() + 1);
    Release release = read_release(entry, place);
    if (!list.empty() && release.torch <= list.back().torch) {
      throw BadInput(place + ": torch: " + text(release.torch) +
                     " follows a newer or equal one; the oldest first, each once");
    }
    list.push_back(std::move(release));
  }
  return list;
}

const std::vector<Release>& releases() {
  static const std::vector<Release> list =
      parse_releases(data_text("releases.json"), "releases.json");
  return list;
}

const Release& release_named(const std::string& name) {
  std::string names;
  for (const Release& release : releases()) {
    if (release.name == name) return release;
    names += (names.empty() ? "" : ", ") + release.name;
  }
  throw BadInput("release: unknown '" + name + "'; " + names);
}

const Release& current_release() {
  const auto newest = std::find_if(releases().rbegin(), releases().rend(),
                                   [](const Release& one) { return !one.simulated; });
  if (newest == releases().rend()) throw BadInput("releases.json: none was measured");
  return *newest;
}

}  // namespace vramfit
