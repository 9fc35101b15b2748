#include "runtimes/llamacpp/ggml/pool.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtimes/llamacpp/architectures/load_model.h"
#include "runtimes/llamacpp/compute_buffers.h"
#include "runtimes/llamacpp/weights/quantizations.h"
#include "tests/runtimes/llamacpp/recorded.h"
#include "tests/support/scratch_folder.h"

namespace vramfit::llamacpp {
namespace {

using json = nlohmann::ordered_json;

std::uint64_t pool_on(const std::string& gpus, const Model& model, const Placement& placement,
                      const WeightPlaces& places, const ContextOptions& options) {
  const std::vector<Device> devices = recorded_devices(gpus);
  const ComputeBuffers buffers =
      compute_buffers(model, placement, places, options, devices, Reservation::Allocated);
  return pool_of(buffers.pool_ops[0], devices[0]);
}

/// Of a context that the run's prompt fills.
std::uint64_t pool(const json& row) {
  const json& args = row["case"]["args"];
  const std::int64_t prompt = row["result"]["prompt"];
  ContextOptions options = recorded_options(args);
  options.context = std::min(options.context, prompt * options.sequences);
  options.ubatch = std::min(options.ubatch, prompt);
  const Model& model = recorded_model(row["model"]);
  const Placement placement = recorded_placement(args);
  const WeightPlaces places = place_weights(model, placement, recorded_free("h200"));
  return pool_on("h200", model, placement, places, options);
}

TEST(LlamaCppPool, IsWhatAnH200Took) {
  int held = 0;
  for (const json& row : recorded_lines("memory.jsonl")) {
    if (!row.contains("result") || !row["result"].contains("pool")) continue;
    const std::uint64_t was = row["result"]["pool"]["mapped"];
    const std::string name = row["case"]["name"];
    // Prompts of several sequences were decoded one after another, random weights sent some tokens
    // to other experts: less than the most.
    if (row["case"]["args"].value("seqs", 1) > 1 || name.find("-random") != std::string::npos) {
      EXPECT_GE(pool(row), was) << name;
      continue;
    }
    EXPECT_EQ(pool(row), was) << name << row["result"]["pool"]["at_max"];
    ++held;
  }
  EXPECT_EQ(held, 42);
}

// As its host code asked for them where no kernel ran, of contexts that prompts fill.
TEST(LlamaCppPool, IsWhatItsHostCodeAsksFor) {
  int held = 0;
  for (const json& row : recorded_lines("pools.jsonl")) {
    const Model& model = recorded_model(row["model"]);
    const Placement placement = recorded_placement(row["args"]);
    const std::string gpus = row["gpus"];
    const WeightPlaces places = place_weights(model, placement, recorded_free(gpus));
    const std::uint64_t got =
        pool_on(gpus, model, placement, places, recorded_options(row["args"]));
    const auto was = ggml::pool_mapped(row["pool"].get<std::uint64_t>());
    EXPECT_EQ(got, was) << row.dump();
    ++held;
  }
  EXPECT_GE(held, 30);
}

// build_attn and build_ffn have GLM-4's last products summed in f32, which
// ggml_cuda_mul_mat_cublas_compute_type answers with weights and rows in f32: of a long prompt the
// larger of the two has its weights once more.
TEST(LlamaCppPool, HoldsWeightsInF32ThatGlm4SumsSo) {
  const std::string config = text_of(std::string(VRAMFIT_CONFIGS) + "/glm-4.5-air.json");
  const Quantizations all(model_of(HfConfig::parse(config, "glm")));
  const std::shared_ptr<const Model> in_f16 = all.in(parse_recipe("F16", "quant"));
  const Model& model = *in_f16;
  ContextOptions options;
  options.context = 512;
  options.sequences = 1;
  const WeightPlaces places = place_weights(model, {}, recorded_free("h200"));
  const std::uint64_t pool = pool_on("h200", model, {}, places, options);
  const auto wo = std::find_if(model.tensors.begin(), model.tensors.end(), [](const auto& tensor) {
    return tensor.name == "blk.0.attn_output.weight";
  });
  ASSERT_NE(wo, model.tensors.end());
  EXPECT_GE(pool, static_cast<std::uint64_t>(wo->elements()) * 4);
}

}  // namespace
}  // namespace vramfit::llamacpp
