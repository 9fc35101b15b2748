#include "model/config/json_reader.h"

#include <utility>

#include "model/errors.h"

namespace vramfit {
namespace {

constexpr std::size_t kShownCharacters = 60;

/// What a key holds, short enough for one line. Bytes that are not UTF-8 are replaced.
std::string shown(const nlohmann::json& value) {
  const std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return text.size() <= kShownCharacters ? text : text.substr(0, kShownCharacters) + "…";
}

std::string as_written(double value) { return shown(nlohmann::json(value)); }

}  // namespace

JsonReader::JsonReader(const nlohmann::json& object, std::string source)
    : object_(object), source_(std::move(source)) {}

const nlohmann::json* JsonReader::find(const char* key) const {
  const auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

const nlohmann::json& JsonReader::require(const char* key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) fail(key, "missing");
  return *value;
}

bool JsonReader::has(const char* key) const { return find(key) != nullptr; }

std::int64_t JsonReader::integer(const char* key, std::int64_t at_least,
                                 std::int64_t at_most) const {
  const nlohmann::json& value = require(key);
  const std::string valid =
      "; a whole number from " + std::to_string(at_least) + " to " + std::to_string(at_most);
  if (!value.is_number_integer()) fail(key, "is " + shown(value) + valid);
  // Unsigned values above the signed range would wrap into it.
  const bool wraps = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
  const std::int64_t number = wraps ? 0 : value.get<std::int64_t>();
  if (wraps || number < at_least || number > at_most) fail(key, "is " + shown(value) + valid);
  return number;
}

std::int64_t JsonReader::integer_or(const char* key, std::int64_t fallback, std::int64_t at_least,
                                    std::int64_t at_most) const {
  return has(key) ? integer(key, at_least, at_most) : fallback;
}

double JsonReader::number(const char* key, double above, double at_most) const {
  const nlohmann::json& value = require(key);
  const bool valid =
      value.is_number() && value.get<double>() > above && value.get<double>() <= at_most;
  if (!valid) {
    fail(key, "is " + shown(value) + "; a number above " + as_written(above) + ", at most " +
                  as_written(at_most));
  }
  return value.get<double>();
}

double JsonReader::number_or(const char* key, double fallback, double above, double at_most) const {
  return has(key) ? number(key, above, at_most) : fallback;
}

bool JsonReader::boolean_or(const char* key, bool fallback) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) fail(key, "is " + shown(*value) + "; true or false");
  return value->get<bool>();
}

std::string JsonReader::text(const char* key) const {
  const nlohmann::json& value = require(key);
  if (!value.is_string()) fail(key, "is " + shown(value) + "; a string");
  return value.get<std::string>();
}

std::string JsonReader::text_or(const char* key, const std::string& fallback) const {
  return has(key) ? text(key) : fallback;
}

std::optional<JsonReader> JsonReader::object(const char* key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) fail(key, "is " + shown(*value) + "; an object");
  return JsonReader(*value, source_ + ": " + key);
}

void JsonReader::require_text(const char* key, std::initializer_list<const char*> valid) const {
  if (!has(key)) return;
  const std::string value = text(key);
  std::string list;
  for (const char* candidate : valid) {
    if (value == candidate) return;
    list += (list.empty() ? "" : ", ") + std::string(candidate);
  }
  fail(key, "is " + shown(*find(key)) + "; one of " + list);
}

void JsonReader::require_boolean(const char* key, bool only) const {
  if (boolean_or(key, only) != only) {
    fail(key,
         std::string("is ") + (only ? "false; only true" : "true; only false") + " is supported");
  }
}

void JsonReader::refuse(const char* key, const char* why) const {
  if (has(key)) fail(key, why);
}

void JsonReader::fail(const char* key, const std::string& what) const {
  throw BadInput(source_ + ": " + key + ": " + what);
}

nlohmann::json parse_json_object(const std::string& text, const std::string& source) {
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    throw BadInput(source + ": not valid JSON at byte " + std::to_string(error.byte) +
                   "; a Hugging Face config.json is expected");
  } catch (const nlohmann::json::out_of_range&) {
    throw BadInput(source + ": a number is out of range");
  }
  if (!json.is_object()) throw BadInput(source + ": not a JSON object");
  return json;
}

}  // namespace vramfit
