#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace vramfit {

/// Typed, bounded access to the keys of a JSON object. Every failure is a BadInput that names the
/// source, the key, what it holds and what would be valid. A key that is null counts as absent.
class JsonReader {
 public:
  /// `source` names the file in messages. Both must outlive the reader.
  JsonReader(const nlohmann::json& object, std::string source);

  const std::string& source() const { return source_; }
  bool has(const char* key) const;
  /// Present and null, which in some keys says "none" where absence stands for a default.
  bool is_null(const char* key) const;
  std::int64_t integer(const char* key, std::int64_t at_least, std::int64_t at_most) const;
  std::int64_t integer_or(const char* key, std::int64_t fallback, std::int64_t at_least,
                          std::int64_t at_most) const;
  double number(const char* key, double at_least, double at_most) const;
  double number_or(const char* key, double fallback, double at_least, double at_most) const;
  bool boolean_or(const char* key, bool fallback) const;
  std::string text(const char* key) const;
  std::string text_or(const char* key, const std::string& fallback) const;
  std::string one_of(const char* key, const std::vector<const char*>& valid) const;
  std::vector<std::string> texts(const char* key) const;
  std::optional<JsonReader> object(const char* key) const;
  /// Every key that is not null.
  std::vector<std::string> keys() const;
  /// What one of them holds as messages show it: JSON where that is short.
  std::string shown(const std::string& key) const;

  /// Throws where `key` is present and not one of `valid`.
  void require_text(const char* key, const std::vector<const char*>& valid) const;
  /// Throws where `key` is present at all.
  void refuse(const char* key, const char* why) const;

  /// Throws BadInput: "<source>: <key>: <what>".
  [[noreturn]] void fail(const char* key, const std::string& what) const;

 private:
  const nlohmann::json* find(const char* key) const;
  /// `valid`: what would be, for the message where the key is missing.
  const nlohmann::json& require(const char* key, const std::string& valid) const;

  const nlohmann::json& object_;
  std::string source_;
};

/// `text` as a JSON object; throws BadInput that says where it stops being one, and what was
/// `expected`: "a Hugging Face config.json".
nlohmann::json parse_json_object(const std::string& text, const std::string& source,
                                 const char* expected);

}  // namespace vramfit
