#include "model/config/shape_keys.h"

#include "model/config/limits.h"

namespace vramfit {

void read_heads(const JsonReader& json, ModelConfig& config, const char* hidden_key,
                const char* heads_key, std::optional<std::int64_t> head_dim) {
  config.hidden = json.integer(hidden_key, 1, kMaxHidden);
  config.heads = json.integer(heads_key, 1, config.hidden);
  if (!head_dim && !json.has("head_dim") && config.hidden % config.heads != 0) {
    json.fail(heads_key, std::to_string(config.heads) + " heads do not divide " + hidden_key + " " +
                             std::to_string(config.hidden) + "; a divisor of it, or give head_dim");
  }
  config.head_dim =
      json.integer_or("head_dim", head_dim.value_or(config.hidden / config.heads), 1, kMaxHeadDim);
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

void read_kv_heads(const JsonReader& json, ModelConfig& config, bool may_leave_out) {
  const char* key = "num_key_value_heads";
  const bool may_be_absent = may_leave_out || json.is_null(key);
  config.kv_heads = may_be_absent ? json.integer_or(key, config.heads, 1, config.heads)
                                  : json.integer(key, 1, config.heads);
  if (config.heads % config.kv_heads != 0) {
    json.fail(key, std::to_string(config.kv_heads) + " does not divide " +
                       std::to_string(config.heads) + " attention heads; a divisor of them");
  }
}

void read_sizes(const JsonReader& json, ModelConfig& config, std::int64_t default_positions) {
  config.layers = json.integer("num_hidden_layers", 1, kMaxLayers);
  config.ffn = json.integer("intermediate_size", 1, kMaxFfn);
  config.vocab = json.integer("vocab_size", 1, kMaxVocab);
  config.max_positions =
      json.integer_or("max_position_embeddings", default_positions, 1, kMaxPositions);
}

void read_norm(const JsonReader& json, ModelConfig& config, NormKind kind, const char* eps_key,
               double default_eps) {
  config.norm = kind;
  config.norm_eps = static_cast<float>(json.number_or(eps_key, default_eps, 0, 1));
}

void read_activation(const JsonReader& json, ModelConfig& config, ActivationKind kind,
                     const char* key, const std::vector<const char*>& valid) {
  json.require_text(key, valid);
  config.activation = kind;
  config.hidden_act = json.text_or(key, valid.front());
}

double read_rate(const JsonReader& json, const char* key, double fallback) {
  return json.number_or(key, fallback, 0, 1);
}

}  // namespace vramfit
