#include "runtimes/vllm/config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace vramfit::vllm {
namespace {

using Json = nlohmann::json;

constexpr const char* kTextParts[] = {"text_config", "llm_config", "language_config"};

void lay_text_part_over(nlohmann::json& config) {
  for (const char* key : kTextParts) {
    const auto found = config.find(key);
    if (found == config.end() || !found->is_object()) continue;
    nlohmann::json text(*found);  // a part of what is changed
    for (const auto& [name, value] : text.items()) {
      if (name != "architectures") config[name] = value;
    }
    return;
  }
}

/// transformers 5 writes what rotations are computed of in one object, or one of each kind of layer
/// (patch_rope_parameters).
void spell_rotations(nlohmann::json& config) {
  const auto found = config.find("rope_parameters");
  if (found == config.end() || !found->is_object()) return;
  nlohmann::json of = *found;
  if (!of.contains("rope_type")) {
    const auto whole = of.find("full_attention");
    if (whole == of.end() || !whole->is_object()) return;
    of = nlohmann::json(*whole);
  }
  const auto take = [&](const char* key, const nlohmann::json& value) {
    const auto there = config.find(key);
    if (there == config.end() || there->is_null()) config[key] = value;
  };
  if (of.contains("partial_rotary_factor")) {
    take("partial_rotary_factor", of.at("partial_rotary_factor"));
  }
  if (!of.contains("rope_type") || of.at("rope_type") != "default") take("rope_scaling", of);
}

/// transformers 5 has two words for what rotations are computed of: a change of either is of both.
void change(nlohmann::json& config, const std::string& key, const nlohmann::json& value) {
  if (key == "rope_scaling") config.erase("rope_parameters");
  if (key == "rope_parameters") config.erase("rope_scaling");
  config[key] = value;
}

}  // namespace

Config Config::parse(const std::string& text, const std::string& source) {
  nlohmann::json config = parse_json_object(text, source, "a Hugging Face config.json");
  lay_text_part_over(config);
  spell_rotations(config);
  return {std::make_shared<const nlohmann::json>(std::move(config)), source};
}

std::string overridden(const std::string& config, const std::string& overrides) {
  nlohmann::json whole = parse_json_object(config, "config.json", "a Hugging Face config.json");
  const nlohmann::json changes = parse_json_object(overrides, "hf-overrides", "a JSON object");
  for (const auto& [key, value] : changes.items()) {
    const auto part = whole.find(key);
    const bool is_config = key.size() > 7 && key.compare(key.size() - 7, 7, "_config") == 0;
    if (is_config && part != whole.end() && part->is_object() && value.is_object()) {
      for (const auto& [name, own] : value.items()) change(*part, name, own);
    } else {
      change(whole, key, value);
    }
  }
  return whole.dump();
}

Config Config::over(std::string_view usual) const {
  if (usual.empty()) return *this;
  Json whole = Json::parse(usual);
  whole.update(*json_);
  return {std::make_shared<const Json>(std::move(whole)), source_};
}

Config Config::renamed(const char* theirs, const char* ours) const {
  const auto found = json_->find(theirs);
  if (found == json_->end() || found->is_null()) return *this;
  Json value = *found;
  if (value.is_array()) {
    const bool alike = std::all_of(value.begin(), value.end(),
                                   [&](const Json& one) { return one == value.front(); });
    if (value.empty() || !alike) {
      json().fail(theirs, "differs from layer to layer, which is not predicted; one value");
    }
    value = Json(value.front());
  }
  Json whole = *json_;
  whole[ours] = std::move(value);
  return {std::make_shared<const Json>(std::move(whole)), source_};
}

std::string Config::architecture() const {
  const std::vector<std::string> classes = texts("architectures");
  if (classes.empty()) json().fail("architectures", "names no class; the model's, in a list");
  return classes.front();
}

std::string Config::architecture_or(const std::string& otherwise) const {
  return json().has("architectures") ? architecture() : otherwise;
}

const char* Config::first(std::initializer_list<const char*> keys) const {
  for (const char* key : keys) {
    if (json().has(key)) return key;
  }
  return nullptr;
}

std::int64_t Config::integer(std::initializer_list<const char*> keys, std::int64_t most) const {
  const char* key = first(keys);
  return json().integer(key == nullptr ? *keys.begin() : key, 1, most);
}

std::int64_t Config::integer_or(std::initializer_list<const char*> keys, std::int64_t otherwise,
                                std::int64_t least) const {
  const char* key = first(keys);
  return key == nullptr ? otherwise : json().integer(key, least, kMostOfAKey);
}

std::vector<std::string> Config::texts(const char* key) const {
  return json().has(key) ? json().texts(key) : std::vector<std::string>();
}

std::size_t Config::size_of(const char* object, const char* list) const {
  const auto found = json_->find(object);
  if (found == json_->end() || !found->is_object()) return 0;
  const auto at = found->find(list);
  return at == found->end() || !at->is_array() ? 0 : at->size();
}

std::vector<std::int64_t> Config::integers_of(const char* object, const char* list) const {
  std::vector<std::int64_t> numbers;
  if (size_of(object, list) == 0) return numbers;
  for (const Json& one : json_->at(object).at(list)) {
    if (!one.is_number_integer())
      json().fail(object, std::string("holds in ") + list + " what is no whole number");
    numbers.push_back(one.get<std::int64_t>());
  }
  return numbers;
}

std::string Config::dump(const char* key) const {
  return json().has(key) ? json_->at(key).dump(-1, ' ', true, Json::error_handler_t::replace) : "";
}

std::vector<std::int64_t> Config::integers(const char* key) const {
  std::vector<std::int64_t> list;
  if (!json().has(key)) return list;
  const nlohmann::json& value = json_->at(key);
  if (!value.is_array()) json().fail(key, "is no list; whole numbers in one");
  for (const nlohmann::json& one : value) {
    if (!one.is_number_integer()) json().fail(key, "holds what is no whole number");
    list.push_back(one.get<std::int64_t>());
  }
  return list;
}

}  // namespace vramfit::vllm
