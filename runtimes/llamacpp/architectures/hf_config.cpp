#include "runtimes/llamacpp/architectures/hf_config.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "model/errors.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {
namespace {

constexpr const char* kExpected = "a Hugging Face config.json";
constexpr const char* kRope = "rope_parameters";

/// Where multimodal models keep their text's (ModelBase.load_hparams, TextModel.__init__).
constexpr const char* kTextConfigs[] = {"text_config", "llm_config", "lm_config", "language_config",
                                        "lfm"};

void lay_text_over(nlohmann::json& config) {
  for (const char* key : kTextConfigs) {
    const auto found = config.find(key);
    if (found == config.end() || !found->is_object()) continue;
    const nlohmann::json text = std::move(*found);
    for (const auto& [name, value] : text.items()) config[name] = value;
    return;
  }
}

/// Under "rope_parameters", with what older configs have beside it.
void gather_rope(nlohmann::json& config) {
  nlohmann::json rope = nlohmann::json::object();
  for (const char* key : {kRope, "rope_scaling"}) {
    const auto found = config.find(key);
    if (found == config.end() || found->is_null()) continue;
    if (found->is_object()) rope = *found;
    break;
  }
  const auto add = [&](const char* name, std::initializer_list<const char*> keys) {
    if (rope.contains(name)) return;
    for (const char* key : keys) {
      const auto found = config.find(key);
      if (found != config.end() && !found->is_null()) rope[name] = *found;
      if (rope.contains(name)) return;
    }
  };
  if (!rope.contains("full_attention") && !rope.contains("sliding_attention")) {
    if (!rope.contains("rope_type") && rope.contains("type")) rope["rope_type"] = rope["type"];
    add("partial_rotary_factor", {"partial_rotary_factor", "rope_pct", "rope_percent"});
    add("original_max_position_embeddings", {"original_max_position_embeddings"});
  }
  config[kRope] = std::move(rope);
}

}  // namespace

HfConfig HfConfig::parse(const std::string& text, const std::string& source) {
  nlohmann::json config = parse_json_object(text, source, kExpected);
  lay_text_over(config);
  gather_rope(config);
  return {std::make_shared<const nlohmann::json>(std::move(config)), source};
}

std::string HfConfig::model_class() const {
  const std::vector<std::string> classes = json().texts("architectures");
  if (classes.empty()) json().fail("architectures", "names no class; the model's, in a list");
  return classes.front();
}

bool HfConfig::mxfp4() const {
  const auto quantization = json().object("quantization_config");
  return quantization && quantization->has("quant_method") &&
         quantization->text("quant_method") == "mxfp4";
}

const char* HfConfig::first(std::initializer_list<const char*> keys) const {
  for (const char* key : keys) {
    if (json().has(key)) return key;
  }
  return nullptr;
}

std::int64_t HfConfig::integer(std::initializer_list<const char*> keys,
                               std::int64_t at_most) const {
  const char* key = first(keys);
  return json().integer(key != nullptr ? key : *keys.begin(), 1, at_most);
}

std::int64_t HfConfig::integer_or(std::initializer_list<const char*> keys, std::int64_t fallback,
                                  std::int64_t at_most) const {
  const char* key = first(keys);
  return key != nullptr ? json().integer(key, 0, at_most) : fallback;
}

std::optional<double> HfConfig::number(const char* key) const {
  if (!json().has(key)) return std::nullopt;
  return json().number(key, -1e30, 1e30);
}

std::int64_t HfConfig::layers() const {
  return integer({"num_hidden_layers", "n_layers", "n_layer", "num_layers"}, kMostLayers);
}

std::int64_t HfConfig::width() const { return integer({"hidden_size", "n_embd"}, kLargestWidth); }

std::int64_t HfConfig::heads() const {
  return integer({"num_attention_heads", "n_head", "n_heads"}, kMostHeads);
}

std::int64_t HfConfig::heads_or(std::int64_t fallback) const {
  return first({"num_attention_heads", "n_head", "n_heads"}) != nullptr ? heads() : fallback;
}

std::int64_t HfConfig::head_dim() const {
  return integer_or({"head_dim"}, width() / heads(), kLargestHead);
}

JsonReader HfConfig::rope() const {
  JsonReader all = *json().object(kRope);
  if (const auto full = all.object("full_attention")) return *full;
  return all;
}

std::string HfConfig::rope_type() const { return rope().text_or("rope_type", ""); }

std::int64_t HfConfig::rotated_dims(double part) const {
  const double factor = rope().number_or("partial_rotary_factor", part, 0, 1);
  return static_cast<std::int64_t>(static_cast<double>(head_dim()) * factor);
}

std::vector<std::int64_t> HfConfig::layers_of_type(const char* type) const {
  const std::vector<std::string> types = json().texts("layer_types");
  if (static_cast<std::int64_t>(types.size()) != layers()) {
    json().fail("layer_types",
                "of " + std::to_string(types.size()) + " layers; of " + std::to_string(layers()));
  }
  std::vector<std::int64_t> result;
  for (const std::string& each : types) result.push_back(each == type ? 1 : 0);
  return result;
}

}  // namespace vramfit::llamacpp
