#include "runtimes/llamacpp/weights/placement.h"

#include <gtest/gtest.h>

#include "tests/runtimes/llamacpp/recorded.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit::llamacpp {
namespace {

using json = nlohmann::ordered_json;

constexpr std::uint64_t kFree = 149'488'271'360;

TEST(LlamaCppPlacement, IsWhatLlamaCppSaysWithoutAllocating) {
  int held = 0;
  for (const json& row : recorded_lines("no_alloc.jsonl")) {
    Placement placement = recorded_placement(row["args"]);
    placement.mmap = false;
    const std::vector<std::uint64_t> free = recorded_free(row["gpus"]);
    const WeightBytes bytes = place_weights(recorded_model(row["model"]), placement, free).bytes;
    const json& recorded = row["breakdown"];
    const auto model = [&](const std::string& buffer) -> std::uint64_t {
      return recorded.contains(buffer) ? recorded[buffer][0].get<std::uint64_t>() : 0;
    };
    const std::string what =
        row["model"].get<std::string>() + " " + row["gpus"].dump() + row["args"].dump();
    for (std::size_t i = 0; i < free.size(); ++i) {
      EXPECT_EQ(bytes.gpus[i], model("CUDA" + std::to_string(i))) << what;
    }
    EXPECT_EQ(bytes.pinned, model("CUDA_Host")) << what;
    EXPECT_EQ(bytes.host, model("CPU")) << what;
    ++held;
  }
  EXPECT_EQ(held, 423);
}

TEST(LlamaCppPlacement, IsWhatAnH200Took) {
  int held = 0;
  for (const json& row : recorded_lines("memory.jsonl")) {
    if (!row.contains("result") || !row["result"].contains("breakdown")) continue;
    const Placement placement = recorded_placement(row["case"]["args"]);
    const WeightBytes bytes = place_weights(recorded_model(row["model"]), placement, {kFree}).bytes;
    const json& breakdown = row["result"]["breakdown"];
    EXPECT_EQ(bytes.gpus[0], breakdown["CUDA0"]["model"]) << row["case"]["name"];
    EXPECT_EQ(bytes.host, breakdown["CPU_Mapped"]["model"]) << row["case"]["name"];
    EXPECT_EQ(bytes.pinned, breakdown["CUDA_Host"]["model"]) << row["case"]["name"];
    ++held;
  }
  EXPECT_GE(held, 45);
}

TEST(LlamaCppPlacement, PutsTheOutputAndTheLastLayersOnTheGpu) {
  const Model& model = recorded_model("qwen2-0.5b Q8_0");
  Placement placement;
  placement.gpu_layers = 3;
  const WeightPlaces places = place_weights(model, placement, {kFree});
  ASSERT_EQ(places.layers.size(), model.hparams.layers.size() + 1);
  EXPECT_TRUE(places.output().on_gpu());
  EXPECT_TRUE(places.layers[22].on_gpu());
  EXPECT_FALSE(places.layers[21].on_gpu());
  ASSERT_TRUE(places.tied_head);
  EXPECT_TRUE(places.tied_head->on_gpu());
  EXPECT_EQ(places.tensors.size(), model.tensors.size());
  EXPECT_EQ(places.tensors[0], (Place{Place::Kind::Host, 0}));
}

TEST(LlamaCppPlacement, LeavesLayersOfNextTokenPredictionInTheFile) {
  const Model& model = recorded_model("glm-4.5-air Q6_K");
  ASSERT_EQ(model.hparams.nextn_layers, 1);
  Placement placement;
  const std::uint64_t without = place_weights(model, placement, {kFree}).bytes.gpus[0];
  placement.load_nextn = true;
  EXPECT_GT(place_weights(model, placement, {kFree}).bytes.gpus[0], without + (1U << 30U));
}

TEST(LlamaCppPlacement, LoadsNoTensorOfALayerThatThereIsNot) {
  Model model = recorded_model("tinyllama-1.1b F16");
  Placement placement;
  placement.load_nextn = true;
  const std::uint64_t bytes = place_weights(model, placement, {kFree}).bytes.gpus[0];
  model.tensors.push_back({"blk.1000.attn_q.weight", {2048, 2048, 1, 1}, DType::Fp16});
  const WeightPlaces places = place_weights(model, placement, {kFree});
  EXPECT_EQ(places.bytes.gpus[0], bytes);
  EXPECT_EQ(places.tensors.back().kind, Place::Kind::NotLoaded);
}

TEST(LlamaCppPlacement, CopiesRopeFactorsToEachPlaceOfALayer) {
  const Model& model = recorded_model("llama3-8b Q6_K");
  Placement placement;
  placement.mmap = false;
  const auto sum = [&](std::int64_t layers) {
    placement.gpu_layers = layers;
    const WeightBytes bytes = place_weights(model, placement, {kFree}).bytes;
    return bytes.gpus[0] + bytes.host + bytes.pinned;
  };
  EXPECT_EQ(sum(0), sum(33));
  EXPECT_EQ(sum(10), sum(33) + 64 * 4);
}

// lazy_read::add.
TEST(LlamaCppPlacement, MapsAnInputBeyondFourGibibytesThoughTheRestIsRead) {
  Model model = recorded_model("gemma4-e2b Q8_0");
  Placement read;
  read.mmap = false;
  EXPECT_EQ(place_weights(model, read, {kFree}).bytes.host, 0U);
  for (ModelTensor& tensor : model.tensors) {
    if (tensor.name != "per_layer_token_embd.weight") continue;
    tensor.ne[1] *= 2;
    ASSERT_GT(tensor.bytes(), std::uint64_t{4} << 30U);
    EXPECT_EQ(place_weights(model, read, {kFree}).bytes.host, tensor.bytes());
  }
}

TEST(LlamaCppPlacement, RefusesWhatLlamaCppHasNot) {
  const Model& model = recorded_model("tinyllama-1.1b F16");
  const auto refused = [&](const Placement& placement, std::initializer_list<const char*> parts) {
    expect_bad_input([&] { place_weights(model, placement, {kFree}); }, parts);
  };
  Placement placement;
  placement.split = SplitMode::Row;
  refused(placement, {"split-mode: row", "layer or none"});
  placement.split = SplitMode::None;
  placement.main_gpu = 1;
  refused(placement, {"main-gpu: 1; 0 to 0"});
  placement = {};
  placement.tensor_split = {1, 1};
  refused(placement, {"tensor-split: 2 shares", "1 GPUs"});
  placement.tensor_split = {-1};
  refused(placement, {"tensor-split: a share below 0"});
  placement = {};
  placement.overrides = {{"[", "CPU"}};
  refused(placement, {"override-tensor: '[' is no regular expression"});
  placement.overrides = {{"attn", "CUDA1"}};
  refused(placement, {"unknown buffer type 'CUDA1'; CPU, or CUDA0"});
}

}  // namespace
}  // namespace vramfit::llamacpp
