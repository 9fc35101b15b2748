#include "model/gguf/metadata.h"

#include <cmath>

#include "model/errors.h"

namespace vramfit::gguf {
namespace {

std::string shown(const Value& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value)) return std::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return "'" + shortened(*text, 40) + "'";
  return "an array of " + std::to_string(std::get<Array>(value).length);
}

}  // namespace

const Value* Metadata::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

void Metadata::fail(const std::string& key, const std::string& what) const {
  throw BadInput(source_ + ": " + shortened(key, 60) + ": " + what);
}

std::int64_t Metadata::checked(const std::string& key, std::int64_t number, std::int64_t at_least,
                               std::int64_t at_most) const {
  if (number < at_least || number > at_most) {
    fail(key, std::to_string(number) + "; " + std::to_string(at_least) + " to " +
                  std::to_string(at_most));
  }
  return number;
}

std::int64_t Metadata::integer(const std::string& key, std::int64_t at_least,
                               std::int64_t at_most) const {
  const Value* value = find(key);
  if (value == nullptr) fail(key, "missing; a whole number");
  const auto* number = std::get_if<std::int64_t>(value);
  if (number == nullptr) fail(key, shown(*value) + "; a whole number");
  return checked(key, *number, at_least, at_most);
}

std::int64_t Metadata::integer_or(const std::string& key, std::int64_t fallback,
                                  std::int64_t at_least, std::int64_t at_most) const {
  return has(key) ? integer(key, at_least, at_most) : fallback;
}

double Metadata::number_or(const std::string& key, double fallback) const {
  const Value* value = find(key);
  if (value == nullptr) return fallback;
  if (const auto* number = std::get_if<std::int64_t>(value)) return static_cast<double>(*number);
  const auto* number = std::get_if<double>(value);
  if (number == nullptr || !std::isfinite(*number)) fail(key, shown(*value) + "; a number");
  return *number;
}

bool Metadata::boolean_or(const std::string& key, bool fallback) const {
  const Value* value = find(key);
  if (value == nullptr) return fallback;
  const bool* truth = std::get_if<bool>(value);
  if (truth == nullptr) fail(key, shown(*value) + "; true or false");
  return *truth;
}

std::string Metadata::text(const std::string& key) const {
  const Value* value = find(key);
  if (value == nullptr) fail(key, "missing; text");
  const auto* text = std::get_if<std::string>(value);
  if (text == nullptr) fail(key, shown(*value) + "; text");
  return *text;
}

std::string Metadata::text_or(const std::string& key, const std::string& fallback) const {
  return has(key) ? text(key) : fallback;
}

std::vector<std::int64_t> Metadata::each_or(const std::string& key, std::size_t count,
                                            std::int64_t fallback, std::int64_t at_least,
                                            std::int64_t at_most) const {
  if (!is_array(key)) {
    return std::vector<std::int64_t>(count, integer_or(key, fallback, at_least, at_most));
  }
  const Array& array = std::get<Array>(*find(key));
  if (array.numbers.size() < count) {
    fail(key, shown(*find(key)) + "; " + std::to_string(count) + " whole numbers");
  }
  std::vector<std::int64_t> each(array.numbers.begin(),
                                 array.numbers.begin() + static_cast<std::ptrdiff_t>(count));
  for (const std::int64_t number : each) checked(key, number, at_least, at_most);
  return each;
}

bool Metadata::is_array(const std::string& key) const {
  const Value* value = find(key);
  return value != nullptr && std::holds_alternative<Array>(*value);
}

std::uint64_t Metadata::length(const std::string& key) const {
  const Value* value = find(key);
  if (value == nullptr) return 0;
  if (!is_array(key)) fail(key, shown(*value) + "; an array");
  return std::get<Array>(*value).length;
}

}  // namespace vramfit::gguf
