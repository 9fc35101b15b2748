#include "runtimes/llamacpp/compute_buffers.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "model/errors.h"
#include "tests/runtimes/llamacpp/recorded.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit::llamacpp {
namespace {

using json = nlohmann::ordered_json;

ComputeBuffers asked(const std::string& model, const json& args, const std::string& gpus,
                     Reservation reservation) {
  const Model& known = recorded_model(model);
  const Placement placement = recorded_placement(args);
  const WeightPlaces places = place_weights(known, placement, recorded_free(gpus));
  return compute_buffers(known, placement, places, recorded_options(args), recorded_devices(gpus),
                         reservation);
}

/// What graphs take on the host, in whichever kind of its memory: behind the GPUs' buffers.
std::uint64_t on_host(const json& breakdown) {
  std::uint64_t sum = 0;
  for (const char* buffer : {"CUDA_Host", "CPU", "CPU_Mapped"}) {
    if (!breakdown.contains(buffer)) continue;
    const json& sizes = breakdown[buffer];
    sum += (sizes.is_array() ? sizes[2] : sizes["compute"]).get<std::uint64_t>();
  }
  return sum;
}

TEST(LlamaCppComputeBuffers, AreWhatLlamaCppSaysWithoutAllocating) {
  std::set<std::string> architectures;
  for (const json& row : recorded_lines("no_alloc.jsonl")) {
    const std::string gpus = row["gpus"];
    const ComputeBuffers buffers = asked(row["model"], row["args"], gpus, Reservation::Measured);
    const json& recorded = row["breakdown"];
    const std::string what = row["model"].get<std::string>() + " " + gpus + row["args"].dump();
    for (std::size_t i = 0; i < buffers.gpus.size(); ++i) {
      const std::string gpu = "CUDA" + std::to_string(i);
      const std::uint64_t compute =
          recorded.contains(gpu) ? recorded[gpu][2].get<std::uint64_t>() : 0;
      EXPECT_EQ(buffers.gpus[i], compute) << what;
    }
    EXPECT_EQ(buffers.host, on_host(recorded)) << what;
    EXPECT_TRUE(!row.contains("flash_refused") || !buffers.flash) << what;
    architectures.insert(recorded_model(row["model"]).hparams.arch);
  }
  EXPECT_GE(architectures.size(), 20U);
}

TEST(LlamaCppComputeBuffers, AreWhatAnH200Took) {
  int held = 0;
  for (const json& row : recorded_lines("memory.jsonl")) {
    if (!row.contains("result") || !row["result"].contains("breakdown")) continue;
    const json& args = row["case"]["args"];
    const ComputeBuffers took = asked(row["model"], args, "h200", Reservation::Allocated);
    const json& breakdown = row["result"]["breakdown"];
    EXPECT_EQ(took.gpus[0], breakdown["CUDA0"]["compute"]) << row["case"]["name"];
    EXPECT_EQ(took.host, on_host(breakdown)) << row["case"]["name"];
    if (row["result"].contains("expected")) {
      const ComputeBuffers measured = asked(row["model"], args, "h200", Reservation::Measured);
      EXPECT_EQ(measured.gpus[0], row["result"]["expected"][0]["compute"]);
      EXPECT_EQ(measured.host, row["result"]["expected"][1]["compute"]);
    }
    ++held;
  }
  EXPECT_GE(held, 45);
}

TEST(LlamaCppComputeBuffers, HaveRoomForARowOfLogitsASequence) {
  const ComputeBuffers buffers =
      asked("tinyllama-1.1b F16", {{"seqs", 4}}, "h200", Reservation::Allocated);
  EXPECT_EQ(buffers.output, 4U * 32000 * 4);
}

TEST(LlamaCppComputeBuffers, AreOnTheGpuThatAnUnsplitModelIsOn) {
  const json args = {{"sm", "none"}, {"mg", 1}};
  const ComputeBuffers both = asked("tinyllama-1.1b F16", args, "h200;h200", Reservation::Measured);
  const ComputeBuffers one =
      asked("tinyllama-1.1b F16", json::object(), "h200", Reservation::Measured);
  EXPECT_EQ(both.gpus, (std::vector<std::uint64_t>{0, one.gpus[0]}));
  EXPECT_EQ(both.host, one.host);
}

TEST(LlamaCppComputeBuffers, LeaveFlashAttentionWhereTheCacheIsOfATypeThatItDoesNotRead) {
  const json args = {{"ctk", "iq4_nl"}};
  EXPECT_FALSE(asked("llama2-7b Q4_K_M", args, "h200", Reservation::Measured).flash);
  EXPECT_TRUE(asked("llama2-7b Q4_K_M", {{"ctk", "q8_0"}}, "h200", Reservation::Measured).flash);
}

TEST(LlamaCppComputeBuffers, RefuseWhatLlamaCppRefuses) {
  const auto refused = [](const char* model, const json& args,
                          std::initializer_list<const char*> parts) {
    expect_bad_input([&] { asked(model, args, "h200", Reservation::Measured); }, parts);
  };
  refused("tinyllama-1.1b F16", {{"ctv", "q8_0"}, {"fa", "off"}}, {"q8_0", "flash attention"});
  refused("tinyllama-1.1b F16", {{"seqs", 257}}, {"at most 256 sequences"});
  refused("tinyllama-1.1b F16", {{"ctx", 1 << 30}, {"batch", 1 << 30}, {"ubatch", 1 << 30}},
          {"64 TiB", "shorter context"});
  refused("tinyllama-1.1b F16", {{"ctx", 100}, {"seqs", 200}}, {"100 rows are too few"});
  Hparams narrow = recorded_model("tinyllama-1.1b F16").hparams;
  narrow.head_v = 48;
  ContextOptions quantised;
  quantised.type_v = *Format::named("q8_0");
  expect_bad_input([&] { settle(quantised, narrow); }, {"values in q8_0", "heads of 48"});
  Model unknown = recorded_model("tinyllama-1.1b F16");
  unknown.hparams.arch = "mamba";
  const WeightPlaces places = place_weights(unknown, {}, recorded_free("h200"));
  expect_bad_input(
      [&] {
        compute_buffers(unknown, {}, places, {}, recorded_devices("h200"), Reservation::Measured);
      },
      {"mamba is not written down"});
}

void ask(const Model& model) {
  const WeightPlaces places = place_weights(model, {}, recorded_free("h200"));
  compute_buffers(model, {}, places, {}, recorded_devices("h200"), Reservation::Measured);
}

/// Whether it was refused as bad input; anything else that is thrown is a defect.
bool refuses(const Model& model) {
  try {
    ask(model);
    return false;
  } catch (const BadInput&) {
    return true;
  }
}

TEST(LlamaCppComputeBuffers, NeedTensorsThatFitTogether) {
  Model model = recorded_model("tinyllama-1.1b F16");
  for (ModelTensor& tensor : model.tensors) {
    if (tensor.name == "blk.3.attn_q.weight") tensor.ne[0] = 7;
  }
  expect_bad_input([&] { ask(model); }, {"do not fit together"});
  model = recorded_model("tinyllama-1.1b F16");
  model.tensors.erase(model.tensors.begin());
  expect_bad_input([&] { ask(model); }, {"no tensor"});
}

/// A model of each architecture.
std::map<std::string, const Model*> one_of_each() {
  std::map<std::string, const Model*> models;
  for (const json& row : recorded_lines("no_alloc.jsonl")) {
    const Model& model = recorded_model(row["model"]);
    models.emplace(model.hparams.arch, &model);
  }
  return models;
}

TEST(LlamaCppComputeBuffers, SurviveAFileThatLacksAnyTensor) {
  for (const auto& [architecture, whole] : one_of_each()) {
    int refused = 0;
    for (std::size_t i = 0; i < whole->tensors.size(); i += 1 + i / 40) {
      Model model = *whole;
      model.tensors.erase(model.tensors.begin() + static_cast<std::ptrdiff_t>(i));
      refused += refuses(model) ? 1 : 0;
    }
    EXPECT_GT(refused, 5) << architecture;
  }
}

TEST(LlamaCppComputeBuffers, SurviveHyperparametersOfAnySize) {
  using Field = std::int64_t Hparams::*;
  const std::vector<Field> fields = {
      &Hparams::embd,          &Hparams::head_k,        &Hparams::head_v,
      &Hparams::head_k_swa,    &Hparams::head_v_swa,    &Hparams::rot,
      &Hparams::window,        &Hparams::kv_from_start, &Hparams::experts,
      &Hparams::experts_used,  &Hparams::expert_groups, &Hparams::groups_used,
      &Hparams::lora_kv,       &Hparams::head_k_mla,    &Hparams::head_v_mla,
      &Hparams::ssm_conv,      &Hparams::ssm_inner,     &Hparams::ssm_state,
      &Hparams::ssm_dt_rank,   &Hparams::ssm_groups,    &Hparams::shortconv_cache,
      &Hparams::context_train, &Hparams::dense_lead};
  int refused = 0;
  for (const auto& [architecture, whole] : one_of_each()) {
    for (const Field field : fields) {
      for (const std::int64_t value : {0, 1, 7, 1 << 30}) {
        Model model = *whole;
        model.hparams.*field = value;
        refused += refuses(model) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace vramfit::llamacpp
