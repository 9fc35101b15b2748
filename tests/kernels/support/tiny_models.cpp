#include "tests/kernels/support/tiny_models.h"

#include <stdexcept>

namespace vramfit {
namespace {

ModelConfig tiny(const char* name) {
  ModelConfig config;
  config.name = config.family = name;
  config.layers = 2;
  config.hidden = 12;
  config.heads = 4;
  config.head_dim = 4;
  config.vocab = 29;
  config.max_positions = 24;
  return config;
}

}  // namespace

ModelConfig tiny_llama() {
  ModelConfig config = tiny("llama");
  config.kv_heads = 2;
  config.ffn = 10;
  config.norm = NormKind::RmsNorm;
  config.norm_eps = 1e-5F;
  config.activation = ActivationKind::SwiGlu;
  config.rope = Rope{};
  return config;
}

ModelConfig tiny_qwen2() {
  ModelConfig config = tiny_llama();
  config.name = config.family = "qwen2";
  config.kv_heads = 1;
  config.norm_eps = 1e-6F;
  config.rope->theta = 1e6;
  config.qkv_bias = true;
  config.tied_head = true;
  return config;
}

ModelConfig tiny_qwen3() {
  ModelConfig config = tiny_llama();
  config.name = config.family = "qwen3";
  config.norm_eps = 1e-6F;
  config.rope->theta = 1e6;
  config.qk_norm = QkNorm::Head;
  return config;
}

ModelConfig tiny_gpt2() {
  ModelConfig config = tiny("gpt2");
  config.kv_heads = config.heads;
  config.head_dim = config.hidden / config.heads;
  config.ffn = 14;
  config.norm = NormKind::LayerNorm;
  config.norm_eps = 1e-5F;
  config.activation = ActivationKind::Gelu;
  config.qkv_bias = config.out_bias = config.mlp_bias = true;
  config.tied_head = true;
  return config;
}

ModelConfig small_llama() {
  ModelConfig config = tiny_llama();
  config.hidden = 256;
  config.head_dim = 64;
  config.ffn = 384;
  config.vocab = 300;
  config.max_positions = 128;
  return config;
}

std::vector<ModelConfig> tiny_models() {
  return {tiny_llama(), tiny_qwen2(), tiny_qwen3(), tiny_gpt2()};
}

ModelConfig tiny_model(const std::string& name) {
  for (const ModelConfig& config : tiny_models()) {
    if (config.name == name) return config;
  }
  throw std::logic_error("no tiny model is called " + name);
}

}  // namespace vramfit
