// Configs that nobody published: numbers whose products leave 64 bits, keys that no C string holds.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "estimator/ask/ask.h"
#include "model/config/hugging_face.h"
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

Json convolutions() {
  Json config = small("Lfm2ForCausalLM", "lfm2");
  config.update(Json{{"layer_types", {"conv", "full_attention", "conv", "full_attention"}},
                     {"conv_dim", 1024},
                     {"conv_L_cache", 3}});
  return config;
}

/// With a tower of that many channels, of which it merges a square of `side` into one.
Json seeing(std::int64_t channels, std::int64_t side) {
  Json config = small("Qwen3VLForConditionalGeneration", "qwen3_vl");
  config["vision_config"] = {
      {"hidden_size", channels}, {"intermediate_size", 4096},  {"depth", 2},
      {"num_heads", 16},         {"spatial_merge_size", side}, {"deepstack_visual_indexes", {1}}};
  return config;
}

Json answered(const Json& config, std::vector<std::string> more = {},
              const Environment& environment = {}) {
  std::vector<std::string> flags = {"--runtime", "vllm", "--gpu", "h200"};
  flags.insert(flags.end(), more.begin(), more.end());
  FitOptions options = parse_options(flags);
  options.config_json = config.dump();
  return Json::parse(ask(options, environment).json()).at("serving");
}

void expect_refused(const Json& config, std::initializer_list<const char*> parts) {
  expect_bad_input([&] { answered(config); }, parts);
}

void expect_unshared(const Json& config, const char* ranks,
                     std::initializer_list<const char*> parts) {
  expect_bad_input([&] { answered(config, {"--tensor-parallel-size", ranks}); }, parts);
}

/// With a model that drafts, of that config, wherever it lies.
Json drafting(const Json& draft, const std::string& called, std::vector<std::string> more = {}) {
  const Environment environment{
      .model = [&](const std::string&) { return parse_hugging_face(draft.dump(), "the draft"); }};
  const Json drafts = {{"model", called}, {"num_speculative_tokens", 3}};
  more.insert(more.end(), {"--speculative-config", drafts.dump()});
  return answered(small("MistralForCausalLM", "mistral"), more, environment);
}

TEST(VllmHostileConfigs, TheirNeighboursAreAnswered) {
  for (const Json& config : {next(), latents(), mamba(), convolutions(), seeing(1024, 2)}) {
    EXPECT_TRUE(answered(config).at("refusal").is_null()) << config;
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

TEST(VllmHostileConfigs, AConvolutionThatSeesATokenAloneKeepsNothing) {
  expect_refused(with(convolutions(), "conv_L_cache", 1), {"conv_L_cache"});
  expect_refused(with(mamba(), "mamba_d_conv", 1), {"mamba_d_conv"});
  expect_refused(with(next(), "linear_conv_kernel_dim", 1), {"linear_conv_kernel_dim"});
}

TEST(VllmHostileConfigs, WhatIsMergedIsNoWiderThanSixtyFourBitsHave) {
  expect_refused(seeing(1 << 18, 64), {"spatial_merge_size", "channels of neighbours"});
  Json config = seeing(1024, 2);
  config["vision_config"]["deepstack_visual_indexes"] = {0, 1, 1};
  expect_refused(config, {"deepstack_visual_indexes", "more than its layers"});
}

TEST(VllmHostileConfigs, NeitherIsWhatExpertsOfReplicasWorkIn) {
  Json config = with(with(next(), "num_experts", 4096), "num_experts_per_tok", 4096);
  config["moe_intermediate_size"] = 1 << 20;
  expect_bad_input(
      [&] {
        answered(config, {"--data-parallel-size", "64", "--enable-expert-parallel", "--dtype",
                          "float32", "--max-num-batched-tokens", "4194304"});
      },
      {"max-num-batched-tokens", "more than any card has"});
}

TEST(VllmHostileConfigs, AnMlpIsNotMadeNarrowerThanTheConfigHasIt) {
  Json config = with(convolutions(), "block_auto_adjust_ff_dim", true);
  config["block_ffn_dim_multiplier"] = 16;
  expect_refused(with(config, "intermediate_size", 1 << 22), {"intermediate_size", "wider than"});
}

TEST(VllmHostileConfigs, RanksHaveAsMuchEachOfWhateverIsDivided) {
  for (const Json& config : {next(), latents(), mamba(), convolutions()}) {
    EXPECT_TRUE(answered(config, {"--tensor-parallel-size", "4"}).at("refusal").is_null())
        << config;
  }
  expect_unshared(next(), "8", {"tensor-parallel-size: 4 key heads of layers that keep a state"});
  expect_unshared(with(mamba(), "mamba_n_heads", 4), "8", {"4 heads of layers that keep a state"});
  expect_unshared(with(mamba(), "mamba_n_groups", 2), "8", {"2 groups of layers that keep"});
  expect_unshared(with(convolutions(), "conv_dim", 4), "8", {"4 channels of convolutions"});
  expect_unshared(with(small("MistralForCausalLM", "mistral"), "intermediate_size", 2049), "8",
                  {"2049 channels of an MLP are not shared out evenly by 8"});
  Json tower = seeing(1024, 2);
  tower["vision_config"]["intermediate_size"] = 3420;
  expect_unshared(tower, "8", {"3420 heads or channels of what sees"});
  EXPECT_TRUE(answered(tower, {"--tensor-parallel-size", "8", "--language-model-only"})
                  .at("refusal")
                  .is_null());
  expect_unshared(with(next(), "shared_expert_intermediate_size", 510), "4",
                  {"510 channels of shared experts"});
  expect_unshared(with(next(), "moe_intermediate_size", 511), "2",
                  {"tensor-parallel-size: an expert's width, 511"});
}

TEST(VllmHostileConfigs, SoTheyHaveOfWhatDrafts) {
  const auto expect = [](const Json& draft, const char* ranks, const char* what) {
    expect_bad_input([&] { drafting(draft, "x", {"--tensor-parallel-size", ranks}); }, {what});
  };
  Json draft = small("MistralForCausalLM", "mistral");
  draft["num_attention_heads"] = 6;
  draft["num_key_value_heads"] = 3;
  draft["head_dim"] = 128;
  expect(draft, "4", "6 heads of the draft, which drafts, are not shared out evenly by 4");
  expect(draft, "2", "3 heads of keys of the draft, which drafts");
  expect(with(convolutions(), "conv_dim", 4), "8", "4 channels of convolutions of the draft");
}

TEST(VllmHostileConfigs, ACommandNamesWhatWasTypedAsOneWord) {
  const Json draft = small("MistralForCausalLM", "mistral");
  const std::string command = drafting(draft, "a'b\"$(id)").at("command");
  EXPECT_NE(command.find(R"~( --speculative-config '{"model":"a'\''b\"$(id)",)~"
                         R"~("num_speculative_tokens":3,"method":"draft_model"}')~"),
            std::string::npos)
      << command;
}

}  // namespace
}  // namespace vramfit
