#include "runtimes/llamacpp/architectures/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "model/errors.h"
#include "runtimes/llamacpp/architectures/load_model.h"
#include "runtimes/llamacpp/weights/placement.h"
#include "runtimes/llamacpp/weights/recipe.h"
#include "runtimes/llamacpp/weights/tensor_names.h"
#include "tests/runtimes/llamacpp/recorded.h"
#include "tests/support/expect_bad_input.h"
#include "tests/support/scratch_folder.h"

namespace vramfit::llamacpp {
namespace {

namespace fs = std::filesystem;

/// Configs as published, by the name that their models have in models.jsonl: those that are
/// shipped, and of families that are not.
std::map<std::string, fs::path> configs() {
  std::map<std::string, fs::path> paths;
  for (const auto& entry : fs::directory_iterator(VRAMFIT_CONFIGS)) {
    paths[entry.path().stem().string()] = entry.path();
  }
  for (const char* name : {"llama2-7b", "qwen2-0.5b", "qwen2-7b", "qwen3-0.6b", "gemma2-2b",
                           "gemma3-1b", "granite-3.1-2b", "olmo2-1b", "phi3-mini"}) {
    paths[name] = fs::path(VRAMFIT_DATA_DIR) / "models" / name / "config.json";
  }
  return paths;
}

Model converted(const fs::path& path) {
  return model_of(HfConfig::parse(text_of(path), path.filename().string()));
}

std::map<std::string, Model> recorded() {
  std::map<std::string, Model> models;
  for (const nlohmann::ordered_json& row : recorded_lines("models.jsonl")) {
    const std::string name = row["model"];
    models.emplace(name.substr(0, name.rfind(' ')), model_of_row(row));
  }
  return models;
}

/// What conversion writes and libllama does without.
bool may_be_extra(const std::string& model, const std::string& name) {
  if (model == "gemma4-e2b") {  // of layers that share others' caches
    return name.find("attn_k") != std::string::npos || name.find("attn_v") != std::string::npos;
  }
  if (model == "qwen3-next-80b-a3b") return name.rfind("blk.48.", 0) == 0;
  return name.find("nextn.embed_tokens") != std::string::npos ||
         name.find("nextn.shared_head_head") != std::string::npos;
}

TEST(LlamaCppConvert, HasTheTensorsThatLibllamaAsksFor) {
  const std::map<std::string, Model> models = recorded();
  int held = 0;
  for (const auto& [name, path] : configs()) {
    const auto found = models.find(name);
    ASSERT_NE(found, models.end()) << name;
    const Model model = converted(path);
    for (const ModelTensor& tensor : found->second.tensors) {
      // Of weights in NVFP4, which the recorded glm-4.5-air has beside all that may be.
      if (name == "glm-4.5-air" && ends_with(tensor.name, "scale")) continue;
      const ModelTensor* mine = model.find(tensor.name);
      ASSERT_NE(mine, nullptr) << name << " " << tensor.name;
      EXPECT_EQ(mine->ne, tensor.ne) << name << " " << tensor.name;
    }
    for (const ModelTensor& tensor : model.tensors) {
      EXPECT_TRUE(found->second.find(tensor.name) != nullptr || may_be_extra(name, tensor.name))
          << name << " " << tensor.name;
    }
    ++held;
  }
  EXPECT_GE(held, 29);
}

TEST(LlamaCppConvert, TellsWhatFilesTell) {
  const std::map<std::string, Model> models = recorded();
  for (const auto& [name, path] : configs()) {
    const Hparams mine = converted(path).hparams;
    const Hparams& file = models.at(name).hparams;
    EXPECT_EQ(mine.arch, file.arch) << name;
    ASSERT_EQ(mine.run_layers(), file.run_layers()) << name;
    for (std::size_t i = 0; i < static_cast<std::size_t>(mine.run_layers()); ++i) {
      const Layer& a = mine.layers[i];
      const Layer& b = file.layers[i];
      EXPECT_EQ(a.heads, b.heads) << name << " " << i;
      EXPECT_EQ(a.kv_heads, b.kv_heads) << name << " " << i;
      EXPECT_EQ(a.ffn, b.ffn) << name << " " << i;
      EXPECT_EQ(a.experts, b.experts) << name << " " << i;
      EXPECT_EQ(a.sliding, b.sliding) << name << " " << i;
      EXPECT_EQ(a.recurrent, b.recurrent) << name << " " << i;
      EXPECT_EQ(mine.k_width(a), file.k_width(b)) << name << " " << i;
      EXPECT_EQ(mine.v_width(a), file.v_width(b)) << name << " " << i;
    }
    const std::vector<std::pair<std::int64_t, std::int64_t>> same = {
        {mine.vocab, file.vocab},
        {mine.embd, file.embd},
        {mine.rot, file.rot},
        {mine.window, file.window},
        {mine.experts, file.experts},
        {mine.experts_used, file.experts_used},
        {mine.expert_ffn, file.expert_ffn},
        {mine.shared_ffn, file.shared_ffn},
        {mine.lora_q, file.lora_q},
        {mine.lora_kv, file.lora_kv},
        {mine.head_k_mla, file.head_k_mla},
        {mine.head_v_mla, file.head_v_mla},
        {mine.ssm_inner, file.ssm_inner},
        {mine.ssm_state, file.ssm_state},
        {mine.ssm_groups, file.ssm_groups},
        {mine.ssm_conv, file.ssm_conv},
        {mine.shortconv_cache, file.shortconv_cache},
        {mine.embd_per_layer, file.embd_per_layer},
        {mine.kv_from_start, file.kv_from_start}};
    for (std::size_t i = 0; i < same.size(); ++i) {
      EXPECT_EQ(same[i].first, same[i].second) << name << " " << i;
    }
    EXPECT_EQ(mine.gating, file.gating) << name;
    EXPECT_EQ(mine.attention_temperature, file.attention_temperature) << name;
  }
}

TEST(LlamaCppConvert, AndTheRecipeMakeTheMeasuredFile) {
  const std::string folder = std::string(VRAMFIT_DATA_DIR) + "/models/";
  for (const char* recipe : {"F16", "Q4_K_M"}) {
    Model model = converted(folder + "llama2-7b/config.json");
    apply(parse_recipe(recipe, "quant"), model.hparams, model.tensors);
    const Model& measured = recorded_model("llama2-7b " + std::string(recipe));
    ASSERT_EQ(model.tensors.size(), measured.tensors.size());
    for (const ModelTensor& tensor : measured.tensors) {
      EXPECT_EQ(model.find(tensor.name)->type, tensor.type) << tensor.name;
    }
  }
}

/// Tensors come in the order of the measured files, too: by it goes what is mapped of a file.
TEST(LlamaCppConvert, AndTheRecipeTakeWhatAnH200Took) {
  int held = 0;
  for (const nlohmann::ordered_json& row : recorded_lines("memory.jsonl")) {
    if (!row.contains("result") || !row["result"].contains("breakdown")) continue;
    const std::string name = row["case"]["model"];
    const std::string type = row["case"]["type"];
    if (name == "mixtral-small") continue;  // whose shape is nobody's
    Model model = converted(fs::path(VRAMFIT_DATA_DIR) / "models" / name / "config.json");
    apply(parse_recipe(type.substr(0, type.find('-')), "quant"), model.hparams, model.tensors);
    const Placement placement = recorded_placement(row["case"]["args"]);
    const WeightBytes bytes = place_weights(model, placement, {std::uint64_t{140} << 30}).bytes;
    const nlohmann::ordered_json& breakdown = row["result"]["breakdown"];
    EXPECT_EQ(bytes.gpus[0], breakdown["CUDA0"]["model"]) << row["case"]["name"];
    EXPECT_EQ(bytes.host, breakdown["CPU_Mapped"]["model"]) << row["case"]["name"];
    ++held;
  }
  EXPECT_GE(held, 40);
}

TEST(LlamaCppConvert, GivesGptOssTheTypesOfItsPublishedFile) {
  Model model = converted(fs::path(VRAMFIT_CONFIGS) / "gpt-oss-20b.json");
  apply(parse_recipe("MXFP4", "quant"), model.hparams, model.tensors);
  std::map<std::string, int> types;
  for (const ModelTensor& tensor : model.tensors) ++types[tensor.type.name()];
  EXPECT_EQ(types["mxfp4"], 3 * 24);
  EXPECT_EQ(types["q8_0"], 4 * 24 + 2);
  EXPECT_EQ(types["fp32"], 289);
}

TEST(LlamaCppConvert, RefusesOtherArchitecturesByName) {
  const auto parse = [](const std::string& text) {
    convert_config(HfConfig::parse(text, "config.json"));
  };
  expect_bad_input(
      [&] { parse(R"({"architectures": ["MambaForCausalLM"]})"); },
      {"config.json: MambaForCausalLM is not known here under llama.cpp; llama, qwen3"});
  EXPECT_THROW(parse(R"({"architectures": ["GPT2LMHeadModel"]})"), UnknownModel);
  expect_bad_input([&] { parse("{}"); }, {"config.json: architectures: missing"});
  expect_bad_input([&] { parse("[]"); }, {"config.json"});
  expect_bad_input([&] { parse(R"({"architectures": ["LlamaForCausalLM"]})"); },
                   {"config.json: num_hidden_layers: missing; a whole number from 1 to 512"});
}

}  // namespace
}  // namespace vramfit::llamacpp
