// Configs that nobody published: numbers whose products leave 64 bits, keys that no C string holds.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "estimator/ask/ask.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kHuge = 1 << 24;

Json small(const char* architecture, const char* type) {
  return {{"architectures", {architecture}},
          {"model_type", type},
          {"hidden_size", 1024},
          {"intermediate_size", 2048},
          {"num_hidden_layers", 4},
          {"num_attention_heads", 8},
          {"num_key_value_heads", 8},
          {"vocab_size", 32000},
          {"max_position_embeddings", 4096}};
}

Json experts(Json config) {
  config.update(
      Json{{"num_experts", 8}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 512}});
  return config;
}

Json next() {
  Json config = experts(small("Qwen3NextForCausalLM", "qwen3_next"));
  config.update(Json{{"linear_num_key_heads", 4},
                     {"linear_num_value_heads", 8},
                     {"linear_key_head_dim", 128},
                     {"linear_value_head_dim", 128},
                     {"linear_conv_kernel_dim", 4},
                     {"shared_expert_intermediate_size", 512}});
  return config;
}

Json latents() {
  Json config = experts(small("DeepseekV3ForCausalLM", "deepseek_v3"));
  config.update(Json{{"n_routed_experts", 8},
                     {"q_lora_rank", 512},
                     {"kv_lora_rank", 512},
                     {"qk_nope_head_dim", 128},
                     {"qk_rope_head_dim", 64},
                     {"v_head_dim", 128}});
  return config;
}

Json mamba() {
  Json config = small("GraniteMoeHybridForCausalLM", "granitemoehybrid");
  config.update(Json{{"num_local_experts", 0},
                     {"shared_intermediate_size", 2048},
                     {"layer_types", {"mamba", "attention", "mamba", "attention"}},
                     {"mamba_n_heads", 32},
                     {"mamba_d_state", 128},
                     {"mamba_d_conv", 4},
                     {"mamba_expand", 2}});
  return config;
}

Json with(Json config, const char* key, Json value) {
  config[key] = std::move(value);
  return config;
}

Json told(const Json& config) {
  FitOptions options = parse_options({"--runtime", "vllm", "--gpu", "h200"});
  options.config_json = config.dump();
  return Json::parse(ask(options, {}).json()).at("serving");
}

void expect_refused(const Json& config, std::initializer_list<const char*> parts) {
  expect_bad_input([&] { told(config); }, parts);
}

TEST(VllmHostileConfigs, TheirNeighboursAreAnswered) {
  for (const Json& config : {next(), latents(), mamba()}) {
    EXPECT_TRUE(told(config).at("refusal").is_null()) << config;
  }
}

TEST(VllmHostileConfigs, HeadsOfStatesAreNoWiderThanSixtyFourBitsHave) {
  expect_refused(with(next(), "linear_num_key_heads", kHuge), {"linear_num_key_heads"});
  expect_refused(with(next(), "linear_conv_kernel_dim", kHuge), {"linear_conv_kernel_dim"});
  Json config = with(next(), "linear_num_value_heads", 1 << 19);
  expect_refused(with(config, "linear_value_head_dim", 1 << 19), {"together wider than"});
  expect_refused(with(mamba(), "mamba_d_state", kHuge), {"mamba_d_state"});
  expect_refused(with(mamba(), "mamba_n_heads", 33), {"mamba_n_heads", "evenly"});
  config = with(mamba(), "mamba_n_groups", 1 << 19);
  expect_refused(with(config, "mamba_d_state", 1 << 19), {"together wider than"});
}

TEST(VllmHostileConfigs, NeitherAreRanksAndExperts) {
  expect_refused(with(latents(), "kv_lora_rank", kHuge), {"kv_lora_rank"});
  expect_refused(with(latents(), "q_lora_rank", kHuge), {"q_lora_rank"});
  expect_refused(with(latents(), "qk_nope_head_dim", 1 << 20), {"qk_nope_head_dim"});
  expect_refused(with(latents(), "n_shared_experts", kHuge), {"n_shared_experts"});
}

TEST(VllmHostileConfigs, AKeyThatHoldsANulIsNoGroup) {
  const std::string name("group\0zero", 10);
  Json groups;
  groups[name] = {{"weights", {{"num_bits", 8}}}};
  const Json stored = {{"quant_method", "compressed-tensors"}, {"config_groups", groups}};
  expect_refused(with(small("MistralForCausalLM", "mistral"), "quantization_config", stored),
                 {"config_groups", "leave weights whole"});
}

}  // namespace
}  // namespace vramfit
