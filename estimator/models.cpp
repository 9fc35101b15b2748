#include "estimator/models.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "estimator/data.h"
#include "estimator/names.h"
#include "estimator/shapes.h"
#include "model/config/hugging_face.h"
#include "model/config/json_reader.h"
#include "model/errors.h"

namespace vramfit {
namespace {

constexpr const char* kPublished = "models/parameters.json";

std::vector<std::string> all_names() {
  std::vector<std::string> all = model_names();
  for (const std::string& more : more_model_names()) all.push_back(more);
  for (const std::string& shape : shape_names()) all.push_back(shape);
  return all;
}

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

using Called = std::optional<std::string>;

bool is_listed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const ModelShape* find_shape(const std::string& name) {
  const std::vector<ModelShape>& list = model_shapes();
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const ModelShape& shape) { return shape.name == name; });
  return found == list.end() ? nullptr : &*found;
}

/// Whether `id`, or its last part, is spelt so.
bool is_id(const std::string& id, const std::string& key) {
  return folded(id) == key || folded(id.substr(id.find('/') + 1)) == key;
}

/// Of folders, by their own names.
Called among(const std::vector<std::string>& names, const std::string& key) {
  for (const std::string& name : names) {
    if (folded(name) == key) return name;
  }
  return std::nullopt;
}

Called by_hub_name(const std::string& key) {
  const nlohmann::json published =
      parse_json_object(data_text(kPublished), kPublished, "what is published about the models");
  for (const std::string& name : model_names()) {
    for (const std::string& id : hub_names(published, name)) {
      if (is_id(id, key)) return name;
    }
  }
  return std::nullopt;
}

Called by_shape(const std::string& key) {
  for (const ModelShape& shape : model_shapes()) {
    const auto called = [&](const std::string& id) { return is_id(id, key); };
    if (folded(shape.name) != key && !std::any_of(shape.also.begin(), shape.also.end(), called)) {
      continue;
    }
    const bool alike = shape.config == "{}";
    return alike ? shape.like : shape.name;
  }
  return std::nullopt;
}

Called called_exactly(const std::string& key) {
  if (Called name = among(model_names(), key)) return name;
  if (Called name = among(more_model_names(), key)) return name;
  if (Called name = by_hub_name(key)) return name;
  return by_shape(key);
}

/// Of a folded name that says how a model was tuned, the model's.
std::string untuned(const std::string& key) {
  for (const std::string_view tuned : {"instruct", "chat", "base", "it"}) {
    if (key.ends_with(tuned)) return key.substr(0, key.size() - tuned.size());
  }
  return "";
}

/// "qwen3-next" of "qwen3-next-80b-a3b": what is left of a name without how large the model is.
std::string_view without_size(std::string_view name) {
  const auto is_size = [](std::string_view part) {
    if (part.starts_with('a')) part.remove_prefix(1);  // active
    const bool in_units = part.ends_with('b') || part.ends_with('m');
    return in_units && part.find_first_not_of("0123456789.") == part.size() - 1;
  };
  for (std::size_t dash; (dash = name.rfind('-')) != std::string_view::npos;) {
    if (dash + 1 == name.size() || !is_size(name.substr(dash + 1))) break;
    name = name.substr(0, dash);
  }
  return name;
}

/// A model of which there is one size alone.
Called of_one_size(const std::string& key) {
  Called one;
  for (const std::string& name : all_names()) {
    if (folded(without_size(name)) != key) continue;
    if (one) return std::nullopt;
    one = name;
  }
  return one;
}

/// What copies another's models under their names.
std::string without_mirror(const std::string& called) {
  for (const std::string_view mirror : {"unsloth/", "NousResearch/"}) {
    if (called.starts_with(mirror)) return called.substr(mirror.size());
  }
  return called;
}

/// Of a shape, its own or what it changes of another's.
std::string config_of(const ModelShape& shape) {
  if (shape.like.empty()) return shape.config;
  nlohmann::json config = nlohmann::json::parse(shipped_config(shape.like));
  config.merge_patch(nlohmann::json::parse(shape.config));
  return config.dump();
}

}  // namespace

std::vector<std::string> model_names() { return data_folders("models"); }

std::vector<std::string> more_model_names() { return data_folders("more_models"); }

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  for (const ModelShape& shape : model_shapes()) {
    if (shape.config != "{}") names.push_back(shape.name);
  }
  return names;
}

std::string shipped_config(const std::string& name) {
  // Looked up in the lists, so that no name can reach a file elsewhere.
  if (is_listed(model_names(), name)) return data_text("models/" + name + "/config.json");
  if (is_listed(more_model_names(), name)) return data_text("more_models/" + name + "/config.json");
  if (const ModelShape* shape = find_shape(name)) return config_of(*shape);
  throw BadInput("model: no '" + name + "' is shipped");
}

std::optional<std::string> shipped_model(const std::string& called) {
  const std::string key = folded(without_mirror(called));
  if (Called name = called_exactly(key)) return name;
  const std::string model = untuned(key);
  if (Called name = model.empty() ? std::nullopt : called_exactly(model)) return name;
  return of_one_size(key);
}

ModelConfig model_named(const std::string& name, const char* otherwise) {
  const std::vector<std::string> names = model_names();
  if (is_listed(names, name) || is_listed(more_model_names(), name) ||
      find_shape(name) != nullptr) {
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
  std::string known = did_you_mean(name, all_names());
  if (known.empty()) known = "; one of those that vramfit --list shows.";
  throw BadInput("model: unknown '" + name + "'" + known + " " + otherwise);
}

}  // namespace vramfit
