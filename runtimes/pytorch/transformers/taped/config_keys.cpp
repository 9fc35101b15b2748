#include "runtimes/pytorch/transformers/taped/config_keys.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/config/json_reader.h"
#include "model/errors.h"

namespace vramfit::pytorch {
namespace {

/// Far beyond any model, and small enough that products of three are seen to overflow.
constexpr std::int64_t kMostOfAKey = std::int64_t{1} << 32;

constexpr int kMostNested = 8;  // what a key hangs on that hangs on another

/// Said of each layer, as gemma3n's widths are: a size where all have the same. `layers`: the
/// config's count.
bool of_one_number(const nlohmann::json& list, const nlohmann::json& layers) {
  return !list.empty() && layers == list.size() && list.front().is_number_integer() &&
         std::all_of(list.begin(), list.end(),
                     [&](const nlohmann::json& each) { return each == list.front(); });
}

}  // namespace

ConfigKeys::ConfigKeys(const ModelSource& source, const OpTape& tape) : tape_(tape) {
  const nlohmann::json object =
      parse_json_object(source.config, source.name, "a Hugging Face config.json");
  const nlohmann::json layers = object.value(tape.layers_key, nlohmann::json());
  for (const auto& [name, value] : object.items()) {
    const auto alias = tape.aliases.find(name);
    const std::string& key = alias == tape.aliases.end() ? name : alias->second;
    if (value.is_number_integer()) own_[key] = value.get<std::int64_t>();
    if (value.is_boolean()) own_[key] = value.get<bool>() ? 1 : 0;
    if (value.is_null()) nulls_.insert(key);
    if (value.is_string() || value.is_number_float()) others_.insert(key);
    if (!value.is_array()) continue;
    if (of_one_number(value, layers)) {
      own_[key] = value.front().get<std::int64_t>();
    } else if (!value.empty() && value.front().is_number()) {
      others_.insert(key);
    }
    for (const auto& each : value) {
      if (each.is_boolean()) lists_[key].emplace_back(each.get<bool>() ? "true" : "false");
      if (each.is_string()) lists_[key].push_back(each.get<std::string>());
      if (each.is_number()) lists_[key].push_back(each.dump());
    }
  }
}

bool ConfigKeys::has(const std::string& key) const {
  return own_.contains(key) || made_of(key) != nullptr;
}

bool ConfigKeys::is_null(const std::string& key) const {
  return nulls_.contains(key) && made_of(key) == nullptr;
}

/// What the class makes of a key that has no number: null is not as nothing.
const Expression* ConfigKeys::made_of(const std::string& key) const {
  if (!nulls_.contains(key)) {
    const auto found = tape_.defaults.find(key);
    return found == tape_.defaults.end() ? nullptr : &found->second;
  }
  const auto found = tape_.nulls.find(key);
  return found == tape_.nulls.end() || !found->second ? nullptr : &*found->second;
}

bool ConfigKeys::names(const std::string& key) const {
  return !nulls_.contains(key) && (has(key) || lists_.contains(key));
}

bool ConfigKeys::is(const std::string& key, std::int64_t number) const {
  const auto own = own_.find(key);
  if (own != own_.end()) return own->second == number;
  const std::vector<std::string> list = words(key);
  if (list.empty()) return has(key) && (*this)(key) == number;
  return std::find(list.begin(), list.end(), std::to_string(number)) != list.end();
}

std::vector<std::string> ConfigKeys::words(const std::string& key) const {
  const auto found = lists_.find(key);
  return found == lists_.end() ? std::vector<std::string>() : found->second;
}

std::int64_t ConfigKeys::operator()(const std::string& key) const { return value(key, 0); }

std::int64_t ConfigKeys::value(const std::string& asked, int nested) const {
  const auto alias = tape_.aliases.find(asked);
  const std::string& key = alias == tape_.aliases.end() ? asked : alias->second;
  const auto own = own_.find(key);
  if (own != own_.end()) {
    if (own->second >= 0 && own->second <= kMostOfAKey) return own->second;
    throw BadInput(key + ": is " + std::to_string(own->second) + "; 0 to " +
                   std::to_string(kMostOfAKey));
  }
  if (others_.contains(key)) {
    throw BadInput(key + ": " + tape_.model_type + "'s sizes hang on it; a whole number");
  }
  if (is_null(key)) {
    throw BadInput(key + ": is null, and " + tape_.model_type +
                   "'s code was recorded with a number; vramfit model runs it");
  }
  const Expression* made = made_of(key);
  if (made == nullptr || nested == kMostNested) {
    throw BadInput(tape_.model_type + ": its config has no '" + key + "', which its sizes hang on");
  }
  return made->value([&](const std::string& other) { return value(other, nested + 1); });
}

}  // namespace vramfit::pytorch
