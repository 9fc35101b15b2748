#include "runtimes/llamacpp/breakdown.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "tests/runtimes/llamacpp/recorded.h"

namespace vramfit::llamacpp {
namespace {

using json = nlohmann::ordered_json;

json told(const Buffers& buffers) {
  return json::array({buffers.model, buffers.context, buffers.compute});
}

/// A row's `breakdown`, of a start without memory on such devices.
void expect_breakdown(const json& row, const std::vector<Device>& devices) {
  Placement placement = recorded_placement(row["args"]);
  placement.mmap = false;
  const Breakdown got = breakdown(recorded_model(row["model"]), placement,
                                  recorded_options(row["args"]), devices, Reservation::Measured);
  const json& recorded = row["breakdown"];
  const auto was = [&](const std::string& buffer) {
    return recorded.contains(buffer) ? recorded[buffer] : json::array({0, 0, 0});
  };
  SCOPED_TRACE(row.dump());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    EXPECT_EQ(told(got.gpus[i]), was("CUDA" + std::to_string(i)));
  }
  EXPECT_EQ(told(got.pinned), was("CUDA_Host"));
  EXPECT_EQ(told(got.host), was("CPU"));
}

TEST(LlamaCppBreakdown, IsWhatLlamaCppSaysWithoutAllocating) {
  int held = 0;
  for (const json& row : recorded_lines("no_alloc.jsonl")) {
    expect_breakdown(row, recorded_devices(row["gpus"]));
    ++held;
  }
  EXPECT_EQ(held, 423);
}

TEST(LlamaCppBreakdown, IsWhatLlamaCppSaysOfCardsOfSeveralKinds) {
  int held = 0;
  for (const json& row : recorded_lines("machines.jsonl")) {
    if (!row.contains("breakdown")) continue;
    expect_breakdown(row, devices_of_machine(row["cards"]));
    ++held;
  }
  EXPECT_EQ(held, 60);
}

// Compute buffers are shared between cards whose attention has the same kernels; pools are not.
TEST(LlamaCppBreakdown, IsTheSameWhereItWasAskedAboutAnotherCardBefore) {
  Breakdowns all;
  std::size_t held = 0;
  for (const json& row : recorded_lines("no_alloc.jsonl")) {
    if (++held % 8 != 0) continue;  // of all kinds some
    const std::shared_ptr<const Model> model(&recorded_model(row["model"]), [](const Model*) {});
    const Placement placement = recorded_placement(row["args"]);
    const ContextOptions options = recorded_options(row["args"]);
    std::vector<Device> devices = recorded_devices(row["gpus"]);
    for (const auto& [capability, multiprocessors] : {std::pair{610, 28},
                                                      {700, 80},
                                                      {750, 40},
                                                      {800, 108},
                                                      {860, 28},
                                                      {890, 128},
                                                      {1200, 170}}) {
      for (Device& device : devices) {
        device.capability = capability;
        device.multiprocessors = multiprocessors;
      }
      const Breakdown alone =
          breakdown(*model, placement, options, devices, Reservation::Allocated);
      const Breakdown among = all.of({model, placement, options, devices, Reservation::Allocated});
      SCOPED_TRACE(row.dump());
      EXPECT_EQ(among.pools, alone.pools);
      for (std::size_t i = 0; i < devices.size(); ++i) {
        EXPECT_EQ(told(among.gpus[i]), told(alone.gpus[i]));
      }
      EXPECT_EQ(told(among.pinned), told(alone.pinned));
      EXPECT_EQ(told(among.host), told(alone.host));
      EXPECT_EQ(among.flash, alone.flash);
    }
  }
}

TEST(LlamaCppBreakdown, IsWhatAnH200Took) {
  int held = 0;
  for (const json& row : recorded_lines("memory.jsonl")) {
    if (!row.contains("result") || !row["result"].contains("breakdown")) continue;
    const json& args = row["case"]["args"];
    const Breakdown got =
        breakdown(recorded_model(row["model"]), recorded_placement(args), recorded_options(args),
                  recorded_devices("h200"), Reservation::Allocated);
    const json& buffers = row["result"]["breakdown"];
    const auto was = [&](const char* buffer, const char* what) -> std::uint64_t {
      return buffers.contains(buffer) ? buffers[buffer][what].get<std::uint64_t>() : 0;
    };
    const auto sum = [&](std::initializer_list<const char*> names) {
      Buffers all;
      for (const char* name : names) {
        all.model += was(name, "model");
        all.context += was(name, "context");
        all.compute += was(name, "compute");
      }
      return told(all);
    };
    EXPECT_EQ(told(got.gpus[0]), sum({"CUDA0"})) << row["case"]["name"];
    EXPECT_EQ(told(got.pinned), sum({"CUDA_Host"})) << row["case"]["name"];
    EXPECT_EQ(told(got.host), sum({"CPU_Mapped", "CPU"})) << row["case"]["name"];
    ++held;
  }
  EXPECT_EQ(held, 48);
}

}  // namespace
}  // namespace vramfit::llamacpp
