#include "model/config/hugging_face.h"

#include <fstream>
#include <system_error>

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
constexpr std::int64_t kMaxWidth = 1 << 22;  // of all query heads together
constexpr double kMaxTheta = 1e12;
constexpr double kMaxFactor = 1e6;
constexpr std::streamsize kMaxFileBytes = std::streamsize{1} << 20;

// What transformers assumes where a mistral or qwen2 file leaves the key out; null there says none.
constexpr std::int64_t kDefaultWindow = 4096;

/// Keys that would change memory or meaning in ways no family here knows.
void refuse_unsupported(const JsonReader& json) {
  for (const char* key : {"quantization_config", "compression_config"}) {
    json.refuse(key, "quantised weights are not supported; use a 16-bit config");
  }
  for (const char* key : {"num_local_experts", "num_experts"}) {
    json.refuse(key, "mixtures of experts are not supported; use a dense model's config");
  }
  json.refuse("text_config", "multimodal models are not supported; pass the text model's config");
  for (const char* key : {"is_encoder_decoder", "add_cross_attention", "use_mrope"}) {
    json.require_boolean(key, false);
  }
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
  if (config.q_width() > kMaxWidth) {
    json.fail(heads_key, std::to_string(config.heads) + " heads of " +
                             std::to_string(config.head_dim) + " are wider than " +
                             std::to_string(kMaxWidth) + "; fewer or narrower ones");
  }
}

void require_whole_rotation(const JsonReader& json) {
  if (json.number_or("partial_rotary_factor", 1.0, 0, 1) != 1.0) {
    json.fail("partial_rotary_factor", "partial rotation is not supported; only 1.0");
  }
}

void read_rope_scaling(const JsonReader& json, Rope& rope) {
  require_whole_rotation(json);
  for (const char* key : {"full_attention", "sliding_attention"}) {
    json.refuse(key, "rotations that differ by layer are not supported; one for all layers");
  }
  const char* type_key = json.has("type") && !json.has("rope_type") ? "type" : "rope_type";
  json.require_text(type_key, {"default", "linear", "llama3"});
  if (!json.has(type_key) && json.has("factor")) {
    json.fail(type_key, "missing beside factor; one of default, linear, llama3");
  }
  const std::string type = json.text_or(type_key, "default");
  if (type == "default") return;
  rope.factor = json.number("factor", 1, kMaxFactor);
  rope.scaling = type == "linear" ? Rope::Scaling::Linear : Rope::Scaling::Llama3;
  if (type == "linear") return;
  rope.low_freq_factor = json.number("low_freq_factor", 0, kMaxFactor);
  rope.high_freq_factor = json.number("high_freq_factor", 0, kMaxFactor);
  if (rope.high_freq_factor <= rope.low_freq_factor) {
    json.fail("high_freq_factor", "is not above low_freq_factor; a number above it");
  }
  rope.original_positions =
      static_cast<double>(json.integer("original_max_position_embeddings", 1, kMaxPositions));
}

Rope read_rope(const JsonReader& json) {
  Rope rope;
  rope.theta = json.number_or("rope_theta", rope.theta, 1, kMaxTheta);
  require_whole_rotation(json);
  if (json.has("rope_scaling") && json.has("rope_parameters")) {
    json.fail("rope_scaling", "given beside rope_parameters; one of the two");
  }
  // transformers 5 moved theta and scaling into rope_parameters.
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (const auto scaling = json.object(key)) {
      rope.theta = scaling->number_or("rope_theta", rope.theta, 1, kMaxTheta);
      read_rope_scaling(*scaling, rope);
    }
  }
  return rope;
}

/// Whether any layer slides; each is named once in `layer_types`.
bool any_layer_slides(const JsonReader& json, std::int64_t layers) {
  bool any = false;
  const std::vector<std::string> types = json.texts("layer_types");
  for (const std::string& type : types) {
    any = any || type == "sliding_attention";
    if (type != "sliding_attention" && type != "full_attention") {
      json.fail("layer_types",
                "holds a kind that is not supported; full_attention and "
                "sliding_attention are");
    }
  }
  if (static_cast<std::int64_t>(types.size()) != layers) {
    json.fail("layer_types", "names " + std::to_string(types.size()) + " layers of " +
                                 std::to_string(layers) + "; one for each");
  }
  return any;
}

/// mistral slides wherever a window is given, the others only where they say so. Which layers do is
/// of no interest: no run is longer than the window, see require_positions.
void read_sliding_window(const JsonReader& json, ModelConfig& config) {
  const bool used = json.boolean_or("use_sliding_window", config.family == "mistral");
  if (used && !json.is_null("sliding_window")) {
    config.sliding_window = json.integer_or("sliding_window", kDefaultWindow, 1, kMaxPositions);
  }
  if (!json.has("layer_types")) return;
  const bool slides = any_layer_slides(json, config.layers);
  if (slides && !config.sliding_window) {
    json.fail("layer_types", "holds sliding_attention, but no sliding_window is in use; set it");
  }
  if (!slides) config.sliding_window.reset();
}

/// llama says which projections have biases; in the other families that is fixed.
void read_biases(const JsonReader& json, ModelConfig& config) {
  if (config.family == "llama") {
    config.qkv_bias = config.out_bias = json.boolean_or("attention_bias", false);
    config.mlp_bias = json.boolean_or("mlp_bias", false);
    return;
  }
  config.qkv_bias = config.family == "qwen2";
  json.require_boolean("attention_bias", config.qkv_bias);
  json.require_boolean("mlp_bias", false);
}

void read_kv_heads(const JsonReader& json, ModelConfig& config) {
  const char* key = "num_key_value_heads";
  // Left out, transformers takes as many as query heads in llama, but 8 or 32 in the others.
  const bool may_be_absent = config.family == "llama" || json.is_null(key);
  config.kv_heads = may_be_absent ? json.integer_or(key, config.heads, 1, config.heads)
                                  : json.integer(key, 1, config.heads);
  if (config.heads % config.kv_heads != 0) {
    json.fail(key, std::to_string(config.kv_heads) + " does not divide " +
                       std::to_string(config.heads) + " attention heads; a divisor of them");
  }
}

ModelConfig read_llama_like(const JsonReader& json, const std::string& family) {
  ModelConfig config;
  config.family = family;
  read_heads(json, config, "hidden_size", "num_attention_heads");
  read_kv_heads(json, config);
  config.layers = json.integer("num_hidden_layers", 1, kMaxLayers);
  config.ffn = json.integer("intermediate_size", 1, kMaxFfn);
  config.vocab = json.integer("vocab_size", 1, kMaxVocab);
  config.max_positions = json.integer_or("max_position_embeddings", 2048, 1, kMaxPositions);
  json.require_text("hidden_act", {"silu", "swish"});
  config.norm = NormKind::RmsNorm;
  config.norm_eps = static_cast<float>(json.number_or("rms_norm_eps", 1e-6, 0, 1));
  config.activation = ActivationKind::SwiGlu;
  config.rope = read_rope(json);
  read_sliding_window(json, config);
  read_biases(json, config);
  config.tied_head = json.boolean_or("tie_word_embeddings", false);
  return config;
}

ModelConfig read_gpt2(const JsonReader& json) {
  ModelConfig config;
  config.family = "gpt2";
  json.refuse("head_dim", "gpt2 has none; leave it out, heads are n_embd / n_head wide");
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
    if (json.has(key) && json.number(key, 0, 1) > 0) {
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
  const std::string path = config_json.string();
  std::error_code ignored;
  std::ifstream file(config_json, std::ios::binary);
  if (!file || std::filesystem::is_directory(config_json, ignored)) {
    throw BadInput("config: cannot read '" + path + "'; the path of a Hugging Face config.json");
  }
  // Bounded, so that a device file or a checkpoint given by mistake is not read to its end.
  std::string text(static_cast<std::size_t>(kMaxFileBytes), '\0');
  file.read(text.data(), kMaxFileBytes);
  if (file.gcount() == kMaxFileBytes) {
    throw BadInput("config: '" + path + "' is larger than 1 MiB; a Hugging Face config.json");
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  const std::filesystem::path whole =
      std::filesystem::absolute(config_json, ignored).lexically_normal();
  const std::string folder = whole.parent_path().filename().string();
  return parse_hugging_face(text, folder.empty() ? path : folder);
}

}  // namespace vramfit
