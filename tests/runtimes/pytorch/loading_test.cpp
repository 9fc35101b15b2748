// Models that from_pretrained reads, quantised by bitsandbytes or not, and generate() with them:
// what an H200 recorded with transformers 5.17, accelerate 1.15 and bitsandbytes 0.50.2.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/ops/outliers.h"
#include "runtimes/pytorch/torch/memory/libraries.h"
#include "runtimes/pytorch/torch/ops/gemm_4bit.h"
#include "runtimes/pytorch/transformers/loading/checkpoint_order.h"
#include "runtimes/pytorch/transformers/modules/outliers.h"
#include "tests/runtimes/pytorch/cases.h"
#include "tests/runtimes/pytorch/events.h"

namespace vramfit::pytorch {
namespace {

using Json = nlohmann::json;

RunReport predicted(const Json& test_case) {
  return run(h200(), measured_release(), model_of(test_case),
             generation_of(test_case, test_case.at("points").at(0)));
}

/// Small ones were left out of the recordings.
constexpr std::int64_t kLeast = 500'000;

ByteEvents events_while(bool loading, const RunReport& report) {
  bool loaded = false;
  return events_of(report, kLeast, [&](const Event& event) {
    loaded = loaded || event.stage != Stage::Loaded;
    return loaded != loading;
  });
}

TEST(Loading, AsksForTheSameBytesInTheSameOrder) {
  int compared = 0;
  for (const Json& recording : read_lines(VRAMFIT_PYTORCH_FIXTURES "/loading.jsonl")) {
    const Json& test_case = recording.at("case");
    SCOPED_TRACE(title_of(test_case));
    const RunReport report = predicted(test_case);
    const StageRecord& loaded = report.stages.at(0);
    const Json& load = recording.at("load");
    EXPECT_EQ(loaded.after, load.at("alloc"));
    EXPECT_EQ(loaded.peak, load.at("peak"));
    EXPECT_EQ(loaded.peak_reserved, load.at("reserved"));
    std::uint64_t peak = 0;
    for (const StageRecord& stage : report.stages) {
      if (stage.stage != Stage::Loaded) peak = std::max(peak, stage.peak);
    }
    const Json& point = recording.at("point");
    // What makes a mask of the prompt, byte by byte, is not all there.
    EXPECT_NEAR(static_cast<double>(peak), point.at("peak").get<double>(), 4096);
    // Without quantisation four threads read, and which is first is chance.
    if (!test_case.contains("pretrained")) {
      EXPECT_EQ(first_difference(load.at("events"), events_while(true, report)), "");
    }
    ByteEvents generation = events_while(false, report);
    if (test_case.contains("again")) generation.erase(generation.begin());  // the workspace
    EXPECT_EQ(first_difference(point.at("events"), std::move(generation)), "");
    ++compared;
  }
  EXPECT_EQ(compared, 16);
}

// The stored bytes of a 7B: 8 bits and a scale a row; 4 bits and a scale for each 64.
TEST(Loading, StoresWhatTheFormatSays) {
  const Json row = read_lines(VRAMFIT_REFERENCE "/pytorch_more.jsonl").at(18);
  Json test_case = row.at("case");
  ASSERT_EQ(test_case.at("quant"), "int8");
  constexpr double kLinears = 32.0 * (4 * 4096.0 * 4096 + 3 * 4096.0 * 11008);
  constexpr double kRest = 2 * (2 * 32000.0 * 4096 + 65 * 4096.0);
  const auto stored = [&](const char* quant) {
    test_case["quant"] = quant;
    return static_cast<double>(predicted(test_case).stages.at(0).after);
  };
  // Blocks are rounded up, and keep what is too small to be split off.
  const auto expect = [&](const char* quant, double bytes) {
    EXPECT_NEAR(stored(quant) / bytes, 1.0025, 0.0025) << quant;
  };
  expect("int8", kRest + kLinears);
  expect("nf4", kRest + kLinears * (0.5 + 4.0 / 64));
  expect("fp4", kRest + kLinears * (0.5 + 4.0 / 64));
  expect("nf4-dq", kRest + kLinears * (0.5 + 1.0 / 64 + 4.0 / 64 / 256));
}

TEST(Loading, ThePeakHoldsOneLinearIn16Bits) {
  for (const Json& row : read_lines(VRAMFIT_REFERENCE "/pytorch_more.jsonl")) {
    if (!row.contains("case") || !row.at("case").contains("quant")) continue;
    Json test_case = row.at("case");
    SCOPED_TRACE(title_of(test_case));
    if (test_case.at("mode") == "train") {
      test_case["points"] = {{1, 16}};
      test_case["mode"] = "infer";
    }
    const StageRecord loaded = predicted(test_case).stages.at(0);
    const Json& load = row.at("result").at("load");
    EXPECT_EQ(loaded.after, load.at("alloc"));
    EXPECT_EQ(loaded.peak, load.at("peak"));
    EXPECT_EQ(loaded.peak_reserved, load.at("peak_reserved"));
  }
}

TEST(Loading, ATiedHeadKeepsABiasOfItsOwn) {
  Json test_case = {{"model", "phi"}, {"mode", "infer"}, {"dtype", "fp32"}, {"new_tokens", 3}};
  test_case["arch"] = {{"model_type", "phi"},       {"hidden_size", 256},
                       {"intermediate_size", 1024}, {"num_hidden_layers", 1},
                       {"num_attention_heads", 4},  {"num_key_value_heads", 4},
                       {"vocab_size", 40960},       {"max_position_embeddings", 1024}};
  test_case["points"] = Json::array({Json::array({1, 64})});
  const auto loaded = [&](bool tied) {
    test_case["arch"]["tie_word_embeddings"] = tied;
    return predicted(test_case).stages.at(0).after;
  };
  EXPECT_EQ(loaded(false) - loaded(true), 40960U * 256 * 4);  // the head's weight, and no more
}

TEST(DeviceMap, LeavesTheLayersOnTheHostThatAccelerateDoes) {
  Json test_case = {{"model", "l8"}, {"mode", "infer"}, {"dtype", "bf16"}, {"pretrained", true}};
  test_case["arch"] = {{"model_type", "llama"},     {"hidden_size", 2048},
                       {"intermediate_size", 4096}, {"num_hidden_layers", 8},
                       {"num_attention_heads", 32}, {"num_key_value_heads", 32},
                       {"vocab_size", 8000},        {"max_position_embeddings", 4096}};
  test_case["new_tokens"] = 3;
  test_case["padded"] = false;
  TorchGeneration options = generation_of(test_case, {1, 256});
  options.pretrained->auto_device_map = true;
  const auto on_host = [&](std::uint64_t free) {
    // What libraries are about to load is free as well.
    const LibrarySizes sizes = library_sizes(h200().overhead, "2.11");
    std::optional<OnHost> host;
    const RunReport report = run(h200(), measured_release(), model_of(test_case), options, {},
                                 free - sizes.blas - sizes.attention, &host);
    return std::pair(host ? host->layers : 0, report.stages.at(0).after);
  };
  EXPECT_EQ(on_host(std::uint64_t{20} << 30).first, 0);
  EXPECT_EQ(on_host(std::uint64_t{100} << 20).first, 8);
  // Where 700 MiB were free, 6 of 8 layers were placed.
  const auto [layers, loaded] = on_host(std::uint64_t{700} << 20);
  EXPECT_EQ(layers, 2);
  EXPECT_NEAR(static_cast<double>(loaded), 536921088, 1e6);
}

TEST(DeviceMap, WhatLiesOnTheHostIsCopiedForItsForward) {
  const Json row = read_lines(VRAMFIT_REFERENCE "/pytorch_more.jsonl").at(1);
  TorchGeneration options = generation_of(row.at("case"), {1, 16});
  options.pretrained->auto_device_map = true;
  std::optional<OnHost> host;
  const RunReport report = run(h200(), measured_release(), model_of(row.at("case")), options, {},
                               std::uint64_t{12} << 30, &host);
  ASSERT_TRUE(host);
  const auto copies = std::count_if(report.events.begin(), report.events.end(), [](const Event& e) {
    return e.kind == Event::Kind::Allocate && e.stage == Stage::Prefill &&
           e.category == Category::Parameters && e.requested == 2U * 4096 * 11008;
  });
  EXPECT_EQ(copies, 3 * host->layers);  // gate, up and down
  EXPECT_FALSE(report.missing);
}

TEST(DeviceMap, WhatIsQuantisedIsNotSpilled) {
  const Json row = read_lines(VRAMFIT_REFERENCE "/pytorch_more.jsonl").at(19);
  TorchGeneration options = generation_of(row.at("case"), {1, 16});
  options.pretrained->auto_device_map = true;
  const ModelConfig model = model_of(row.at("case"));
  const auto missing = [&](std::uint64_t capacity) {
    return run(h200(), measured_release(), model, options, {}, capacity).missing;
  };
  EXPECT_FALSE(missing(std::uint64_t{6} << 30));
  ASSERT_TRUE(missing(std::uint64_t{4} << 30));
  EXPECT_EQ(missing(std::uint64_t{4} << 30)->stage, Stage::Loaded);
}

// The most rows that _gemm_4bit_use_custom_cuda of bitsandbytes 0.50.2 fuses in bf16.
TEST(Gemm4Bit, IsFusedAsOnEachCard) {
  struct Row {
    int sm, multiprocessors;
    std::int64_t out, in, most;
  };
  for (const Row& row : std::initializer_list<Row>{
           {75, 72, 4096, 4096, 7},     {80, 108, 4096, 4096, 5},    {80, 108, 28672, 8192, 128},
           {80, 108, 1024, 4096, 16},   {80, 108, 4864, 896, 128},   {86, 84, 4096, 4096, 64},
           {86, 84, 11008, 4096, 128},  {89, 128, 4096, 4096, 8},    {89, 128, 4096, 11008, 64},
           {89, 128, 28672, 8192, 256}, {89, 128, 2048, 5632, 10},   {90, 132, 4096, 4096, 7},
           {90, 132, 11008, 4096, 32},  {90, 132, 4096, 11008, 5},   {90, 132, 32000, 4096, 64},
           {90, 132, 896, 4864, 7},     {90, 132, 4864, 896, 16},    {90, 132, 256, 2048, 32},
           {100, 148, 4096, 4096, 4},   {100, 148, 28672, 8192, 32}, {120, 170, 11008, 4096, 64},
           {120, 170, 4096, 4096, 8},   {121, 48, 4096, 4096, 256}}) {
    SCOPED_TRACE(std::to_string(row.sm) + ": " + std::to_string(row.out) + " x " +
                 std::to_string(row.in));
    const auto fused = [&](std::int64_t rows) {
      return is_fused(
          {Arch{row.sm}, row.multiprocessors, ScalarType::BFloat16, rows, row.out, row.in});
    };
    EXPECT_TRUE(fused(row.most));
    EXPECT_FALSE(fused(row.most + 1));
  }
  EXPECT_FALSE(is_fused({Arch{90}, 132, ScalarType::BFloat16, 1, 4096, 100}));  // blocks of 64
  EXPECT_FALSE(is_fused({Arch{90}, 132, ScalarType::Float, 8, 4096, 4096}));
}

// Counted on an H200 in random models of these shapes, in the middle of their layers.
TEST(Outliers, AreAsManyAsRandomWeightsHave) {
  struct Row {
    const char* family;
    std::int64_t hidden, ffn, rows, counted;
  };
  for (const Row& row : std::initializer_list<Row>{{"llama", 4096, 11008, 32, 1080},
                                                   {"llama", 4096, 11008, 512, 8620},
                                                   {"llama", 4096, 11008, 4000, 11008},
                                                   {"llama", 2048, 5632, 8192, 1400},
                                                   {"qwen2", 3584, 18944, 512, 11150},
                                                   {"phi3", 3072, 8192, 512, 2460}}) {
    const Json test_case = {{"model", row.family},
                            {"arch",
                             {{"model_type", row.family},
                              {"hidden_size", row.hidden},
                              {"intermediate_size", row.ffn},
                              {"num_hidden_layers", 2},
                              {"num_attention_heads", 32},
                              {"num_key_value_heads", 32},
                              {"vocab_size", 8000},
                              {"max_position_embeddings", 4096}}}};
    const double chance = outlier_chance(model_of(test_case), LinearInput::Hidden, 1);
    const auto columns = static_cast<double>(outlier_columns(chance, row.rows, row.ffn, 0.5));
    EXPECT_NEAR(columns / static_cast<double>(row.counted), 1.15, 0.25) << row.family << row.rows;
  }
}

TEST(Outliers, AreNoneOfNormedInputs) {
  const Json row = read_lines(VRAMFIT_REFERENCE "/pytorch_more.jsonl").at(18);
  const ModelConfig model = model_of(row.at("case"));
  const double chance = outlier_chance(model, LinearInput::Stream, 31);
  EXPECT_EQ(outlier_columns(chance, 4096, 4096, 0.5), 0);
  EXPECT_EQ(outlier_chance(model, LinearInput::Attended, 31), 0);
}

TEST(CheckpointOrder, IsThatOfNamesAndNumbers) {
  EXPECT_TRUE(CheckpointKey("model.layers.2.mlp.up_proj.weight") <
              CheckpointKey("model.layers.10.input.weight"));
  EXPECT_TRUE(CheckpointKey("lm_head.weight") < CheckpointKey("model.embed_tokens.weight"));
  EXPECT_TRUE(CheckpointKey("model.layers.0.mlp.fc1.bias") <
              CheckpointKey("model.layers.0.mlp.fc1.weight"));
  EXPECT_TRUE(CheckpointKey("transformer.h.0.ln_1.weight") <
              CheckpointKey("transformer.h.0.ln_2.bias"));
  EXPECT_FALSE(CheckpointKey("model.norm.weight") < CheckpointKey("model.norm.weight"));
}

}  // namespace
}  // namespace vramfit::pytorch
