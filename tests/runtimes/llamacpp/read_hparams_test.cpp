#include "runtimes/llamacpp/architectures/read_hparams.h"

#include <gtest/gtest.h>

#include "runtimes/llamacpp/architectures/architecture.h"
#include "runtimes/llamacpp/graphs/architectures.h"
#include "tests/runtimes/llamacpp/recorded.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit::llamacpp {
namespace {

gguf::Metadata small_llama() {
  gguf::Metadata metadata("model.gguf");
  metadata.set("general.architecture", std::string("llama"));
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"block_count", 2},          {"context_length", 4096},    {"embedding_length", 64},
      {"feed_forward_length", 96}, {"attention.head_count", 4}, {"vocab_size", 1000}};
  for (const auto& [key, value] : sizes) metadata.set(std::string("llama.") + key, value);
  return metadata;
}

TEST(LlamaCppHparams, HaveTheDefaultsOfLlamaCpp) {
  const Hparams h = read_hparams(small_llama());
  EXPECT_EQ(h.arch, "llama");
  EXPECT_EQ(h.name, "llama");
  EXPECT_EQ(h.vocab, 1000);
  EXPECT_EQ(h.layers[1].kv_heads, 4);
  EXPECT_EQ(h.head_k, 16);
  EXPECT_EQ(h.head_v_swa, 16);
  EXPECT_EQ(h.rot, 16);
  EXPECT_EQ(h.window, 0);
  EXPECT_EQ(h.kv_from_start, -1);
}

TEST(LlamaCppHparams, CountTheTokensOfTheList) {
  gguf::Metadata metadata = small_llama();
  metadata.set("tokenizer.ggml.tokens", gguf::Array{1008, {}});
  EXPECT_EQ(read_hparams(metadata).vocab, 1008);
}

TEST(LlamaCppHparams, TakeSizesOfEachLayerOrOfAll) {
  gguf::Metadata metadata = small_llama();
  metadata.set("llama.attention.head_count_kv", gguf::Array{2, {1, 2}});
  const Hparams h = read_hparams(metadata);
  EXPECT_EQ(h.layers[0].kv_heads, 1);
  EXPECT_EQ(h.k_width(h.layers[1]), 32);
  metadata.set("llama.attention.head_count_kv", gguf::Array{1, {1}});
  expect_bad_input([&] { read_hparams(metadata); },
                   {"llama.attention.head_count_kv: an array of 1; 2 whole numbers"});
}

TEST(LlamaCppHparams, SayWhichLayersSlide) {
  const Hparams& gemma = recorded_model("gemma3-1b Q8_0").hparams;
  EXPECT_EQ(gemma.window, 512);
  for (std::size_t i = 0; i < gemma.layers.size(); ++i) {
    EXPECT_EQ(gemma.layers[i].sliding, i % 6 != 5) << i;
  }
  const Hparams& gpt = recorded_model("gpt-oss-20b MXFP4_MOE").hparams;
  EXPECT_TRUE(gpt.layers[0].sliding);
  EXPECT_FALSE(gpt.layers[1].sliding);
  EXPECT_FALSE(recorded_model("phi3-mini Q4_0").hparams.layers[0].sliding);
}

TEST(LlamaCppHparams, SayWhichLayersKeepAState) {
  const Hparams& next = recorded_model("qwen3-next-80b-a3b Q2_K").hparams;
  EXPECT_TRUE(next.layers[0].recurrent);
  EXPECT_FALSE(next.layers[3].recurrent);
  EXPECT_EQ(next.ssm_inner, 4096);
  const Hparams& lfm = recorded_model("lfm2-350m F16").hparams;
  EXPECT_TRUE(lfm.layers[0].recurrent);
  EXPECT_FALSE(lfm.layers[2].recurrent);
}

TEST(LlamaCppHparams, KnowLatentAttention) {
  const Hparams& v3 = recorded_model("deepseek-v3 Q4_K_M").hparams;
  EXPECT_TRUE(v3.latent());
  EXPECT_EQ(v3.lora_q, 1536);
  EXPECT_EQ(v3.k_width(v3.layers[0]), 512 + 64);
  EXPECT_EQ(v3.gating, Gating::Sigmoid);
  EXPECT_FALSE(v3.layers[2].experts);
  EXPECT_TRUE(v3.layers[3].experts);
  EXPECT_FALSE(recorded_model("deepseek-v2-lite-mha Q6_K").hparams.latent());
}

TEST(LlamaCppHparams, AreReadOfArchitecturesWhoseGraphsAreWrittenDown) {
  for (const Architecture* architecture : architectures()) {
    EXPECT_NE(graph_of(architecture->name), nullptr) << architecture->name;
  }
}

// is_lite of llama_model_deepseek2: those have no latent queries, whatever files say.
TEST(LlamaCppHparams, TellTheLiteOnesByTheirSize) {
  for (const nlohmann::ordered_json& row : recorded_lines("models.jsonl")) {
    if (row["model"].get<std::string>().rfind("deepseek-v2-lite ", 0) != 0) continue;
    gguf::Metadata metadata = recorded_metadata(row);
    metadata.set("deepseek2.block_count", std::int64_t{48});
    metadata.set("deepseek2.vocab_size", std::int64_t{128256});
    EXPECT_EQ(read_hparams(metadata).lora_q, 0);
    metadata.set("deepseek2.vocab_size", std::int64_t{128000});
    expect_bad_input([&] { read_hparams(metadata); }, {"attention.q_lora_rank: missing"});
    return;
  }
  FAIL() << "no deepseek-v2-lite";
}

TEST(LlamaCppHparams, RefuseWhatCannotBe) {
  const auto refused = [](const char* key, gguf::Value value,
                          std::initializer_list<const char*> parts) {
    gguf::Metadata metadata = small_llama();
    metadata.set(key, std::move(value));
    expect_bad_input([&] { read_hparams(metadata); }, parts);
  };
  refused("general.architecture", std::string("mamba"),
          {"model.gguf: general.architecture: 'mamba'; llama, qwen3, gemma3", "docs/llamacpp.md"});
  refused("llama.block_count", std::int64_t{0}, {"llama.block_count: 0; 1 to 512"});
  refused("llama.block_count", std::string("two"), {"llama.block_count: 'two'; a whole number"});
  refused("llama.expert_used_count", std::int64_t{2}, {"llama.expert_used_count: 2"});
  refused("llama.expert_count", std::int64_t{8}, {"llama.expert_used_count: 0; 1 to the 8"});
  refused("llama.nextn_predict_layers", std::int64_t{2}, {"nextn_predict_layers: 2; 0 to 1"});
  refused("llama.attention.head_count", std::int64_t{0}, {"attention.head_count: 0 or missing"});
  refused("llama.attention.head_count_kv", std::int64_t{3}, {"head_count_kv: no divisor of"});
  refused("llama.attention.head_count_kv", std::int64_t{0}, {"head_count_kv: 0; 1 or more"});
  refused("llama.attention.key_length", std::int64_t{0}, {"attention.key_length: 0; 1 or more"});
  refused("llama.rope.dimension_count", std::int64_t{20}, {"rope.dimension_count: more than"});
  refused("llama.rope.dimension_count", std::int64_t{8}, {"rope.dimension_count: less than"});
  refused("llama.feed_forward_length", std::int64_t{0}, {"feed_forward_length: 0 or missing"});
  refused("llama.embedding_length", std::int64_t{1} << 40, {"llama.embedding_length"});
}

}  // namespace
}  // namespace vramfit::llamacpp
