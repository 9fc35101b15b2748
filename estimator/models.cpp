#include "estimator/models.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "estimator/data.h"
#include "estimator/names.h"
#include "model/config/hugging_face.h"
#include "model/config/json_reader.h"
#include "model/errors.h"

namespace vramfit {
namespace {

constexpr const char* kPublished = "models/parameters.json";

/// What a model and others of its shape are called on the Hugging Face hub.
std::vector<std::string> hub_names(const nlohmann::json& published, const std::string& model) {
  const auto entry = published.find(model);
  if (entry == published.end()) return {};
  const JsonReader json(*entry, std::string(kPublished) + ": " + model);
  std::vector<std::string> names;
  if (json.has("also")) names = json.texts("also");
  names.push_back(json.text("hub"));
  return names;
}

}  // namespace

std::vector<std::string> model_names() { return data_folders("models"); }

std::vector<std::string> more_model_names() { return data_folders("more_models"); }

std::string shipped_config(const std::string& name) {
  const std::vector<std::string> more = more_model_names();
  const bool is_more = std::find(more.begin(), more.end(), name) != more.end();
  return data_text((is_more ? "more_models/" : "models/") + name + "/config.json");
}

std::optional<std::string> shipped_model(const std::string& called) {
  const std::string key = folded(called);
  const std::vector<std::string> names = model_names();
  for (const std::string& name : names) {
    if (folded(name) == key) return name;
  }
  for (const std::string& name : more_model_names()) {
    if (folded(name) == key) return name;
  }
  const nlohmann::json published =
      parse_json_object(data_text(kPublished), kPublished, "what is published about the models");
  for (const std::string& name : names) {
    for (const std::string& id : hub_names(published, name)) {
      if (folded(id) == key || folded(id.substr(id.find('/') + 1)) == key) return name;
    }
  }
  return std::nullopt;
}

ModelConfig model_named(const std::string& name) {
  // Looked up in the list, so that no name can reach a file elsewhere.
  const std::vector<std::string> names = model_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) {
    // Read once: a sweep asks for the same a million times.
    static thread_local std::map<std::string, std::pair<std::string, ModelConfig>> read;
    auto& [config, model] = read[name];
    std::string now = shipped_config(name);
    if (config != now) {
      model = parse_hugging_face(now, name);
      config = std::move(now);
    }
    return model;
  }
  const std::vector<std::string> more = more_model_names();
  if (std::find(more.begin(), more.end(), name) != more.end()) {
    return parse_hugging_face(shipped_config(name), name);
  }
  std::string known = did_you_mean(name, names);
  if (known.empty()) known = "; one of those that fit --list shows.";
  throw BadInput(
      "model: unknown '" + name + "'" + known +
      " Any other by its Hugging Face id, folder or config.json; --params 7B for a llama of "
      "its size");
}

}  // namespace vramfit
