#include "model/config/json_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/errors.h"
#include "model/printable.h"

namespace vramfit {
namespace {

constexpr std::size_t kShownValueBytes = 60;

/// What a key holds, short enough for one line. Lists and objects are not shown: written out they
/// are long, and recursion would follow a hostile file as deep as it nests.
std::string in_short(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return shortened(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace),
                   kShownValueBytes);
}

std::string as_written(double value) { return in_short(nlohmann::json(value)); }

}  // namespace

JsonReader::JsonReader(const nlohmann::json& object, std::string source)
    : object_(object), source_(std::move(source)) {}

const nlohmann::json* JsonReader::find(const char* key) const {
  const auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

const nlohmann::json& JsonReader::require(const char* key, const std::string& valid) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) fail(key, "missing; " + valid);
  return *value;
}

bool JsonReader::has(const char* key) const { return find(key) != nullptr; }

bool JsonReader::is_null(const char* key) const {
  const auto it = object_.find(key);
  return it != object_.end() && it->is_null();
}

std::int64_t JsonReader::integer(const char* key, std::int64_t at_least,
                                 std::int64_t at_most) const {
  const std::string valid =
      "a whole number from " + std::to_string(at_least) + " to " + std::to_string(at_most);
  const nlohmann::json& value = require(key, valid);
  // Unsigned values above the signed range would wrap into it.
  const bool wraps = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
  const bool fits = value.is_number_integer() && !wraps && value.get<std::int64_t>() >= at_least &&
                    value.get<std::int64_t>() <= at_most;
  if (!fits) fail(key, "is " + in_short(value) + "; " + valid);
  return value.get<std::int64_t>();
}

std::int64_t JsonReader::integer_or(const char* key, std::int64_t fallback, std::int64_t at_least,
                                    std::int64_t at_most) const {
  return has(key) ? integer(key, at_least, at_most) : fallback;
}

double JsonReader::number(const char* key, double at_least, double at_most) const {
  const std::string valid = "a number from " + as_written(at_least) + " to " + as_written(at_most);
  const nlohmann::json& value = require(key, valid);
  const bool fits =
      value.is_number() && value.get<double>() >= at_least && value.get<double>() <= at_most;
  if (!fits) fail(key, "is " + in_short(value) + "; " + valid);
  return value.get<double>();
}

double JsonReader::number_or(const char* key, double fallback, double at_least,
                             double at_most) const {
  return has(key) ? number(key, at_least, at_most) : fallback;
}

bool JsonReader::boolean_or(const char* key, bool fallback) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) fail(key, "is " + in_short(*value) + "; true or false");
  return value->get<bool>();
}

std::string JsonReader::text(const char* key) const {
  const nlohmann::json& value = require(key, "a string");
  if (!value.is_string()) fail(key, "is " + in_short(value) + "; a string");
  return value.get<std::string>();
}

std::string JsonReader::text_or(const char* key, const std::string& fallback) const {
  return has(key) ? text(key) : fallback;
}

std::vector<std::string> JsonReader::texts(const char* key) const {
  const std::string valid = "a list of strings";
  const nlohmann::json& value = require(key, valid);
  if (!value.is_array()) fail(key, "is " + in_short(value) + "; " + valid);
  std::vector<std::string> result;
  for (const nlohmann::json& element : value) {
    if (!element.is_string()) fail(key, "holds " + in_short(element) + "; " + valid);
    result.push_back(element.get<std::string>());
  }
  return result;
}

std::optional<JsonReader> JsonReader::object(const char* key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) fail(key, "is " + in_short(*value) + "; an object");
  return JsonReader(*value, source_ + ": " + key);
}

std::vector<std::string> JsonReader::keys() const {
  std::vector<std::string> result;
  for (const auto& [key, value] : object_.items()) {
    if (!value.is_null()) result.push_back(key);
  }
  return result;
}

std::string JsonReader::shown(const std::string& key) const { return in_short(object_.at(key)); }

std::string JsonReader::one_of(const char* key, const std::vector<const char*>& valid) const {
  std::string list;
  for (const char* candidate : valid) {
    list += (list.empty() ? "one of " : ", ") + std::string(candidate);
  }
  require(key, list);
  const std::string value = text(key);
  const auto is_it = [&value](const char* candidate) { return value == candidate; };
  if (std::none_of(valid.begin(), valid.end(), is_it)) {
    fail(key, "is " + in_short(*find(key)) + "; " + list);
  }
  return value;
}

void JsonReader::require_text(const char* key, const std::vector<const char*>& valid) const {
  if (has(key)) one_of(key, valid);
}

void JsonReader::refuse(const char* key, const char* why) const {
  if (has(key)) fail(key, why);
}

void JsonReader::fail(const char* key, const std::string& what) const {
  throw BadInput(source_ + ": " + key + ": " + what);
}

nlohmann::json parse_json_object(const std::string& text, const std::string& source,
                                 const char* expected) {
  const auto fail_at = [&](std::size_t byte) {
    throw BadInput(source + ": not valid JSON at byte " + std::to_string(byte) + "; " + expected +
                   " is expected");
  };
  // The parser would take a zero for the end, whatever follows it.
  const std::size_t zero = text.find('\0');
  if (zero != std::string::npos) fail_at(zero + 1);
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    fail_at(error.byte);
  } catch (const nlohmann::json::out_of_range&) {
    throw BadInput(source + ": a number is out of range; at most 1.8e308");
  }
  if (!json.is_object()) {
    throw BadInput(source + ": not a JSON object; " + expected + " is expected");
  }
  return json;
}

}  // namespace vramfit
