#include "model/config/hugging_face.h"

#include <fstream>
#include <sstream>

#include "model/config/json_reader.h"
#include "model/errors.h"

namespace vramfit {
namespace {

// Generous limits, so that products of sizes stay within 64 bits until batch and seq come in.
constexpr std::int64_t kMaxLayers = 10'000;
constexpr std::int64_t kMaxHidden = 1 << 20;
constexpr std::int64_t kMaxFfn = 1 << 22;
constexpr std::int64_t kMaxVocab = 1 << 24;
constexpr std::int64_t kMaxPositions = std::int64_t{1} << 31;
constexpr double kMaxTheta = 1e12;

/// Keys that would change memory or meaning in ways no family here knows.
void refuse_unsupported(const JsonReader& json) {
  json.refuse("quantization_config", "quantised weights are not supported; use a 16-bit config");
  json.refuse("num_local_experts", "mixtures of experts are not supported");
  json.refuse("num_experts", "mixtures of experts are not supported");
  json.refuse("text_config", "multimodal models are not supported; pass the text model's config");
  json.require_boolean("is_encoder_decoder", false);
  json.require_boolean("add_cross_attention", false);
}

void read_heads(const JsonReader& json, ModelConfig& config, const char* hidden_key,
                const char* heads_key) {
  config.hidden = json.integer(hidden_key, 1, kMaxHidden);
  config.heads = json.integer(heads_key, 1, config.hidden);
  if (!json.has("head_dim") && config.hidden % config.heads != 0) {
    json.fail(heads_key, std::to_string(config.heads) + " heads do not divide " + hidden_key + " " +
                             std::to_string(config.hidden) + "; a divisor of it, or give head_dim");
  }
  config.head_dim = json.integer_or("head_dim", config.hidden / config.heads, 1, kMaxHeadDim);
  if (config.head_dim > kMaxHeadDim || config.head_dim % 2 != 0) {
    json.fail("head_dim", "is " + std::to_string(config.head_dim) + "; an even number of at most " +
                              std::to_string(kMaxHeadDim));
  }
}

void read_rope_scaling(const JsonReader& json, Rope& rope) {
  const char* type_key = json.has("rope_type") ? "rope_type" : "type";
  json.require_text(type_key, {"default", "linear", "llama3"});
  const std::string type = json.text_or(type_key, "default");
  json.refuse("partial_rotary_factor", "partial rotation is not supported");
  if (type == "default") return;
  rope.factor = json.number("factor", 0, 1e6);
  rope.scaling = type == "linear" ? Rope::Scaling::Linear : Rope::Scaling::Llama3;
  if (type == "linear") return;
  rope.low_freq_factor = json.number("low_freq_factor", 0, 1e6);
  rope.high_freq_factor = json.number("high_freq_factor", rope.low_freq_factor, 1e6);
  rope.original_positions =
      static_cast<double>(json.integer("original_max_position_embeddings", 1, kMaxPositions));
}

Rope read_rope(const JsonReader& json) {
  Rope rope;
  rope.theta = json.number_or("rope_theta", 10000.0, 0, kMaxTheta);
  json.refuse("partial_rotary_factor", "partial rotation is not supported");
  // transformers 5 moved theta and scaling into rope_parameters.
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (const auto scaling = json.object(key)) {
      rope.theta = scaling->number_or("rope_theta", rope.theta, 0, kMaxTheta);
      read_rope_scaling(*scaling, rope);
    }
  }
  return rope;
}

/// mistral always slides where a window is given, qwen2 only where it says so, llama never.
void read_sliding_window(const JsonReader& json, ModelConfig& config) {
  const bool used = json.boolean_or("use_sliding_window", config.family == "mistral");
  if (used && json.has("sliding_window")) {
    config.sliding_window = json.integer("sliding_window", 1, kMaxPositions);
  }
  if (!json.has("layer_types")) return;
  if (used) json.fail("layer_types", "layers that differ are not supported");
}

ModelConfig read_llama_like(const JsonReader& json, const std::string& family) {
  ModelConfig config;
  config.family = family;
  read_heads(json, config, "hidden_size", "num_attention_heads");
  config.kv_heads = json.integer_or("num_key_value_heads", config.heads, 1, config.heads);
  if (config.heads % config.kv_heads != 0) {
    json.fail("num_key_value_heads", std::to_string(config.kv_heads) + " does not divide " +
                                         std::to_string(config.heads) +
                                         " attention heads; a divisor of them");
  }
  config.layers = json.integer("num_hidden_layers", 1, kMaxLayers);
  config.ffn = json.integer("intermediate_size", 1, kMaxFfn);
  config.vocab = json.integer("vocab_size", 1, kMaxVocab);
  config.max_positions = json.integer_or("max_position_embeddings", 2048, 1, kMaxPositions);
  json.require_text("hidden_act", {"silu"});
  config.norm = NormKind::RmsNorm;
  config.norm_eps = static_cast<float>(json.number_or("rms_norm_eps", 1e-6, 0, 1));
  config.activation = ActivationKind::SwiGlu;
  config.rope = read_rope(json);
  read_sliding_window(json, config);
  config.qkv_bias = family == "qwen2";
  if (family == "llama") {
    config.qkv_bias = config.out_bias = json.boolean_or("attention_bias", false);
    config.mlp_bias = json.boolean_or("mlp_bias", false);
  }
  config.tied_head = json.boolean_or("tie_word_embeddings", false);
  return config;
}

ModelConfig read_gpt2(const JsonReader& json) {
  ModelConfig config;
  config.family = "gpt2";
  json.refuse("head_dim", "gpt2 has none; its heads are n_embd / n_head wide");
  read_heads(json, config, "n_embd", "n_head");
  config.kv_heads = config.heads;
  config.layers = json.integer("n_layer", 1, kMaxLayers);
  config.ffn = json.integer_or("n_inner", 4 * config.hidden, 1, kMaxFfn);
  config.vocab = json.integer("vocab_size", 1, kMaxVocab);
  config.max_positions = json.integer("n_positions", 1, kMaxPositions);
  json.require_text("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  json.require_boolean("scale_attn_weights", true);
  json.require_boolean("scale_attn_by_inverse_layer_idx", false);
  json.require_boolean("reorder_and_upcast_attn", false);
  config.norm = NormKind::LayerNorm;
  config.norm_eps = static_cast<float>(json.number_or("layer_norm_epsilon", 1e-5, 0, 1));
  config.activation = ActivationKind::Gelu;
  config.qkv_bias = config.out_bias = config.mlp_bias = true;
  config.tied_head = json.boolean_or("tie_word_embeddings", true);
  return config;
}

/// Dropout would keep masks for backward. Nobody benchmarks with it, so it is left out, and said.
void note_dropout(const JsonReader& json, ModelConfig& config) {
  for (const char* key : {"attention_dropout", "attn_pdrop", "embd_pdrop", "resid_pdrop"}) {
    if (json.has(key) && json.number(key, -1e-9, 1) > 0) {
      config.notes.push_back("dropout is left out (its masks would add memory)");
      return;
    }
  }
}

}  // namespace

ModelConfig parse_hugging_face(const std::string& json_text, const std::string& name) {
  const nlohmann::json object = parse_json_object(json_text, name);
  const JsonReader json(object, name);
  refuse_unsupported(json);
  if (!json.has("model_type")) json.fail("model_type", "missing; llama, mistral, qwen2 or gpt2");
  json.require_text("model_type", {"llama", "mistral", "qwen2", "gpt2"});
  const std::string family = json.text("model_type");
  ModelConfig config = family == "gpt2" ? read_gpt2(json) : read_llama_like(json, family);
  config.name = name;
  note_dropout(json, config);
  return config;
}

ModelConfig read_hugging_face(const std::filesystem::path& config_json) {
  std::ifstream file(config_json);
  if (!file || std::filesystem::is_directory(config_json)) {
    throw BadInput("config: cannot read '" + config_json.string() +
                   "'; the path of a Hugging Face config.json");
  }
  std::ostringstream text;
  text << file.rdbuf();
  const std::string folder = config_json.parent_path().filename().string();
  return parse_hugging_face(text.str(), folder.empty() ? config_json.string() : folder);
}

}  // namespace vramfit
