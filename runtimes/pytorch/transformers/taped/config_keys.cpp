#include "runtimes/pytorch/transformers/taped/config_keys.h"

#include <nlohmann/json.hpp>

#include "model/config/json_reader.h"
#include "model/errors.h"

namespace vramfit::pytorch {

ConfigKeys::ConfigKeys(const ModelSource& source, const OpTape& tape) : tape_(tape) {
  const nlohmann::json object =
      parse_json_object(source.config, source.name, "a Hugging Face config.json");
  for (const auto& [name, value] : object.items()) {
    const auto alias = tape.aliases.find(name);
    const std::string& key = alias == tape.aliases.end() ? name : alias->second;
    if (value.is_number_integer()) own_[key] = value.get<std::int64_t>();
    if (value.is_boolean()) own_[key] = value.get<bool>() ? 1 : 0;
    if (!value.is_array()) continue;
    for (const auto& each : value) {
      if (each.is_string()) lists_[key].push_back(each.get<std::string>());
      if (each.is_number_integer()) lists_[key].push_back(std::to_string(each.get<std::int64_t>()));
    }
  }
}

bool ConfigKeys::has(const std::string& key) const {
  return own_.contains(key) || tape_.defaults.contains(key);
}

std::vector<std::string> ConfigKeys::words(const std::string& key) const {
  const auto found = lists_.find(key);
  return found == lists_.end() ? std::vector<std::string>() : found->second;
}

std::int64_t ConfigKeys::operator()(const std::string& key) const {
  const auto own = own_.find(key);
  if (own != own_.end()) return own->second;
  const auto found = tape_.defaults.find(key);
  if (found == tape_.defaults.end()) {
    throw BadInput(tape_.model_type + ": its config has no '" + key + "', which its sizes hang on");
  }
  return found->second.value([this](const std::string& other) { return (*this)(other); });
}

}  // namespace vramfit::pytorch
