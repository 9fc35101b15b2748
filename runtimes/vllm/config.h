#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/config/json_reader.h"

namespace vramfit::vllm {

/// A Hugging Face config.json with its text's part laid over the whole (get_hf_text_config).
class Config {
 public:
  /// Throws BadInput that names `source` where it is none.
  static Config parse(const std::string& text, const std::string& source);

  JsonReader json() const { return {*json_, source_}; }
  /// With keys that it lacks as `usual` has them, which is JSON; empty: none.
  Config over(std::string_view usual) const;
  /// With the value of one key under another one; of a list of one value a layer, that value.
  Config renamed(const char* theirs, const char* ours) const;
  /// The class that its weights are of.
  std::string architecture() const;
  std::string architecture_or(const std::string& otherwise) const;
  std::string model_type() const { return json().text_or("model_type", ""); }
  /// Of these keys the first that is there, a whole number.
  std::int64_t integer(std::initializer_list<const char*> keys,
                       std::int64_t most = kMostOfAKey) const;
  std::int64_t integer_or(std::initializer_list<const char*> keys, std::int64_t otherwise,
                          std::int64_t least = 0) const;
  bool truth(const char* key, bool otherwise) const { return json().boolean_or(key, otherwise); }
  std::vector<std::string> texts(const char* key) const;
  /// Whole numbers; none where there is no such key.
  std::vector<std::int64_t> integers(const char* key) const;
  /// Of a list in an object; 0 where there is none.
  std::size_t size_of(const char* object, const char* list) const;
  /// Whole numbers of a list in an object; none where there is none.
  std::vector<std::int64_t> integers_of(const char* object, const char* list) const;
  /// As JSON; empty where there is no such key.
  std::string dump(const char* key) const;
  std::optional<JsonReader> object(const char* key) const { return json().object(key); }

 private:
  static constexpr std::int64_t kMostOfAKey = std::int64_t{1} << 24;

  Config(std::shared_ptr<const nlohmann::json> json, std::string source)
      : json_(std::move(json)), source_(std::move(source)) {}
  const char* first(std::initializer_list<const char*> keys) const;

  std::shared_ptr<const nlohmann::json> json_;
  std::string source_;
};

/// A config.json's text with `overrides`' keys, also in its parts (--hf-overrides).
std::string overridden(const std::string& config, const std::string& overrides);

}  // namespace vramfit::vllm
