#include "runtimes/llamacpp/fit_choice.h"

#include <gtest/gtest.h>

#include "runtimes/llamacpp/breakdown.h"
#include "tests/runtimes/llamacpp/recorded.h"

namespace vramfit::llamacpp {
namespace {

using json = nlohmann::ordered_json;

struct Asked {
  const Model& model;
  Placement placement;
  ContextOptions options;
  FitTargets targets;
};

std::vector<Device> h200s(const std::vector<std::uint64_t>& free) {
  std::vector<Device> devices;
  for (const std::uint64_t bytes : free) devices.push_back({bytes, 900, 132});
  return devices;
}

FitChoice choose(const Asked& asked, const std::vector<Device>& devices) {
  return choose_fit(asked.model.hparams, asked.placement, asked.options, asked.targets,
                    [&](const Placement& placement, const ContextOptions& options) {
                      return breakdown(asked.model, placement, options, devices,
                                       Reservation::Measured);
                    });
}

json told(const FitChoice& choice) {
  json overrides = json::array();
  for (const auto& [pattern, buffer] : choice.placement.overrides) {
    overrides.push_back({pattern, buffer});
  }
  return {{"n_ctx", choice.context}, {"ngl", choice.placement.gpu_layers}, {"ot", overrides}};
}

TEST(LlamaCppFit, ChoosesAsItDidOnAnH200) {
  int held = 0;
  for (const json& row : recorded_lines("memory.jsonl")) {
    if (!row.contains("result") || !row["result"].contains("fits")) continue;
    for (const json& fit : row["result"]["fits"]) {
      const std::uint64_t free = fit["free"];
      const FitChoice choice = choose({recorded_model(row["model"]),
                                       recorded_placement(row["case"]["args"]),
                                       recorded_options(row["case"]["args"]),
                                       {{free}, {free - fit["cap"].get<std::uint64_t>()}, 4096}},
                                      h200s({free}));
      const json was = {
          {"n_ctx", fit["n_ctx"]}, {"ngl", fit["n_gpu_layers"]}, {"ot", fit["overrides"]}};
      EXPECT_EQ(told(choice), was) << row["case"]["name"] << " " << fit["cap"];
      EXPECT_EQ(choice.fits(), fit["status"] == 0);
      ++held;
    }
  }
  EXPECT_EQ(held, 13);
}

/// What a row has beside its question, of a start on such devices.
void expect_choice(const json& row, const std::vector<Device>& devices) {
  std::vector<std::uint64_t> free;
  for (const Device& device : devices) free.push_back(device.free);
  const FitChoice choice =
      choose({recorded_model(row["model"]),
              {},
              recorded_options(row["args"]),
              {free, std::vector<std::uint64_t>(free.size(), row["margin"]), row["least_context"]}},
             devices);
  const json was = {{"n_ctx", row["n_ctx"]},
                    {"ngl", row["ngl"]},
                    {"ot", row.contains("ot") ? row["ot"] : json::array()}};
  SCOPED_TRACE(row.dump());
  EXPECT_EQ(told(choice), was);
  EXPECT_EQ(choice.fits(), row["status"] == 0);
  std::vector<double> split = choice.placement.tensor_split;
  split.resize(free.size(), 0);
  if (free.size() > 1) {
    EXPECT_EQ(json(split), row["ts"]);
  }
}

// Any free memory, on one card and on two.
TEST(LlamaCppFit, ChoosesAsLlamaCppDoes) {
  int held = 0;
  for (const json& row : recorded_lines("fits.jsonl")) {
    expect_choice(row, h200s(row["free"]));
    ++held;
  }
  EXPECT_GE(held, 100);
}

// Of several cards one, with the first's margin: common_params_fit_impl counts the model's devices.
TEST(LlamaCppFit, FillsTheGpuThatAnUnsplitModelIsOn) {
  const Model& model = recorded_model("llama2-7b F16");
  const FitChoice one =
      choose({model, {}, {}, {{9'000'000'000}, {1U << 30U}, 4096}}, h200s({9'000'000'000}));
  Placement placement;
  placement.split = SplitMode::None;
  placement.main_gpu = 1;
  const FitChoice second =
      choose({model, placement, {}, {{500'000'000, 9'000'000'000}, {1U << 30U, 0}, 4096}},
             h200s({500'000'000, 9'000'000'000}));
  EXPECT_LT(one.placement.gpu_layers, 33);
  EXPECT_EQ(told(second), told(one));
  EXPECT_TRUE(second.placement.tensor_split.empty());
}

TEST(LlamaCppFit, EndsWhereLayersOnTheGpuTakeNoMore) {
  const Hparams& hparams = recorded_model("llama2-7b F16").hparams;
  const auto always = [](const Placement&, const ContextOptions&) {
    return Breakdown{{{1U << 30U, 0, 0, 0}}, {}, {}, {}};
  };
  const FitChoice choice = choose_fit(hparams, {}, {}, {{1U << 20U}, {0}, 4096}, always);
  EXPECT_LT(choice.placement.gpu_layers, 33);
}

TEST(LlamaCppFit, ChoosesAsLlamaCppDoesOnCardsOfSeveralKinds) {
  int held = 0;
  for (const json& row : recorded_lines("machines.jsonl")) {
    if (!row.contains("ngl")) continue;
    expect_choice(row, devices_of_machine(row["cards"]));
    ++held;
  }
  EXPECT_EQ(held, 61);
}

TEST(LlamaCppFit, LeavesWhatWasAskedFor) {
  const Model& model = recorded_model("llama2-7b F16");
  Placement placement;
  placement.gpu_layers = 10;
  ContextOptions options;
  options.context = 32768;
  const FitTargets targets{{8'000'000'000}, {1U << 30U}, 4096};
  const FitChoice choice = choose({model, placement, options, targets}, h200s(targets.free));
  EXPECT_EQ(choice.failure, "n_gpu_layers already set by user to 10");
  EXPECT_EQ(choice.placement.gpu_layers, 10);
  EXPECT_EQ(choice.context, 32768);
  options.context = 0;
  placement = {};
  placement.cpu_moe_layers = 2;
  const FitChoice short_context = choose({model, placement, options, targets}, h200s(targets.free));
  EXPECT_FALSE(short_context.fits());
  EXPECT_EQ(short_context.context, 4096);
}

}  // namespace
}  // namespace vramfit::llamacpp
