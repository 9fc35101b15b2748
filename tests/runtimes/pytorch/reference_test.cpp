// Predictions against data/reference, as measured on an H200: the bounds that the project set
// itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/runtimes/pytorch/cases.h"

namespace vramfit::pytorch {
namespace {

using Json = nlohmann::json;

class Errors {
 public:
  void add(std::uint64_t predicted, const Json& measured, const std::string& title) {
    const auto m = measured.get<double>();
    const double error = (static_cast<double>(predicted) - m) / m;
    lowest_ = std::min(lowest_, error);
    if (std::abs(error) > worst()) worst_title_ = title;
    sizes_.push_back(std::abs(error));
  }
  double median() const {
    std::vector<double> sorted = sizes_;
    std::sort(sorted.begin(), sorted.end());
    return sorted.at(sorted.size() / 2);
  }
  double worst() const {
    return sizes_.empty() ? -1 : *std::max_element(sizes_.begin(), sizes_.end());
  }
  std::size_t count() const { return sizes_.size(); }
  double lowest() const { return lowest_; }
  const std::string& worst_title() const { return worst_title_; }

 private:
  std::vector<double> sizes_;
  double lowest_ = 0;
  std::string worst_title_;
};

struct Levels {
  std::uint64_t peak = 0;
  std::uint64_t reserved = 0;
  std::uint64_t device_used = 0;
};

/// Of all training cases of a file.
void expect_training_within_bounds(const std::string& file, std::size_t cases) {
  Errors peak;
  Errors reserved;
  Errors device_used;
  Errors stage_after;
  for (const Json& row : read_lines(VRAMFIT_REFERENCE "/" + file)) {
    if (!row.contains("case") || row.at("case").at("mode") != "train") continue;
    const Json& test_case = row.at("case");
    if (!is_modelled(test_case)) continue;
    const std::string title = title_of(test_case);
    const RunReport report =
        run(h200(), measured_release(), model_of(test_case), training_of(test_case));
    Levels predicted;
    Json measured = {{"peak", 0}, {"peak_reserved", 0}, {"device_used", 0}};
    for (const StageRecord& stage : report.stages) {
      if (stage.stage == Stage::Loaded) continue;
      const std::string key = "step" + std::to_string(stage.step) + "." + name(stage.stage);
      const Json& readings = row.at("result").at("stages");
      // Micro-batches' stages are numbered: left out.
      if (readings.contains(key)) {
        stage_after.add(stage.after, readings.at(key).at("alloc"), title + " " + key);
      }
      predicted.peak = std::max(predicted.peak, stage.peak);
      predicted.reserved = std::max(predicted.reserved, stage.peak_reserved);
      predicted.device_used = std::max(predicted.device_used, stage.device_used);
    }
    for (const auto& [key, reading] : row.at("result").at("stages").items()) {
      for (auto& [level, value] : measured.items()) value = std::max(value, reading.at(level));
    }
    peak.add(predicted.peak, measured.at("peak"), title);
    reserved.add(predicted.reserved, measured.at("peak_reserved"), title);
    device_used.add(predicted.device_used, measured.at("device_used"), title);
  }
  ASSERT_EQ(peak.count(), cases);
  EXPECT_LE(peak.median(), 0.003);
  EXPECT_LE(peak.worst(), 0.02) << peak.worst_title();
  EXPECT_GE(peak.lowest(), -0.005);
  EXPECT_LE(stage_after.worst(), 0.01) << stage_after.worst_title();
  EXPECT_LE(reserved.median(), 0.02);
  EXPECT_LE(reserved.worst(), 0.06) << reserved.worst_title();
  EXPECT_LE(device_used.median(), 0.02);
  EXPECT_LE(device_used.worst(), 0.06) << device_used.worst_title();
}

TEST(Reference, TrainingIsPredictedWithinTheBounds) {
  expect_training_within_bounds("pytorch_single_gpu.jsonl", 48);
}

TEST(Reference, AndOfOtherShapesAndFamilies) {
  expect_training_within_bounds("pytorch_shapes.jsonl", 26);
}

TEST(Reference, AndOfNewerFamilies) { expect_training_within_bounds("pytorch_families.jsonl", 29); }

TEST(Reference, AndOfMicroBatchesModelsFromFilesAndBitsandbytes) {
  expect_training_within_bounds("pytorch_more.jsonl", 22);
}

/// What a kind of generation was measured to take, and is predicted to.
struct GenerationErrors {
  Errors peak, reserved, device_used;

  void add(const Json& test_case, const Json& point, bool again) {
    TorchGeneration options = generation_of(test_case, {point.at("b"), point.at("s")});
    options.padded = false;  // measure_pytorch_more.py's prompts hold none
    options.again = again;
    const RunReport report = run(h200(), measured_release(), model_of(test_case), options);
    Levels predicted;
    for (const StageRecord& stage : report.stages) {
      if (stage.stage == Stage::Loaded) continue;
      predicted.peak = std::max(predicted.peak, stage.peak);
      predicted.reserved = std::max(predicted.reserved, stage.peak_reserved);
      predicted.device_used = std::max(predicted.device_used, stage.device_used);
    }
    const std::string title = title_of(test_case) + " at " + point.dump();
    peak.add(predicted.peak, point.at("peak"), title);
    reserved.add(predicted.reserved, point.at("peak_reserved"), title);
    device_used.add(predicted.device_used, point.at("device_used"), title);
  }

  void expect_within_bounds() const {
    EXPECT_LE(peak.median(), 0.003);
    EXPECT_LE(peak.worst(), 0.02) << peak.worst_title();
    EXPECT_LE(reserved.worst(), 0.06) << reserved.worst_title();
    EXPECT_LE(device_used.worst(), 0.06) << device_used.worst_title();
  }
};

TEST(Reference, GenerationsOfModelsFromFilesAndOfQuantisedOnes) {
  GenerationErrors quantised;
  GenerationErrors others;
  for (const Json& row : read_lines(VRAMFIT_REFERENCE "/pytorch_more.jsonl")) {
    if (!row.contains("case") || row.at("case").at("mode") != "infer") continue;
    const Json& test_case = row.at("case");
    if (!is_modelled(test_case)) continue;
    const bool quant = test_case.contains("quant");
    bool again = false;
    for (const Json& point : row.at("result").at("points")) {
      (quant ? quantised : others).add(test_case, point, again && quant);
      again = true;
    }
  }
  EXPECT_EQ(quantised.peak.count(), 12U);
  EXPECT_EQ(others.peak.count(), 9U);
  quantised.expect_within_bounds();
  others.expect_within_bounds();
}

// What the run took that decoded 64 tokens with a static cache, compiled: torch.compile's graphs
// take little more than what runs eagerly.
TEST(Reference, AStaticCacheTakesItsWholeLengthAtOnce) {
  const Json row = read_lines(VRAMFIT_REFERENCE "/pytorch_more.jsonl").at(17);
  Json test_case = row.at("case");
  ASSERT_EQ(test_case.at("gen").at("cache_implementation"), "static");
  test_case["static_cache"] = true;
  test_case["new_tokens"] = test_case.at("time_tokens");
  const Json& point = row.at("result").at("points").at(0);
  Json timed = point.at("timed");
  timed["b"] = point.at("b");
  timed["s"] = point.at("s");
  GenerationErrors errors;
  errors.add(test_case, timed, true);
  errors.expect_within_bounds();
}

TEST(Reference, TheLargestBatchIsTheMeasuredOne) {
  int cases = 0;
  for (const Json& row : read_lines(VRAMFIT_REFERENCE "/pytorch_max_batch.jsonl")) {
    if (!row.contains("case")) continue;
    const Json& test_case = row.at("case");
    const std::uint64_t capacity = test_case.at("cap_mib").get<std::uint64_t>() << 20;
    TorchTraining options = training_of(test_case);
    const auto fits = [&](std::int64_t batch) {
      options.batch = batch;
      return !run(h200(), measured_release(), model_of(test_case), options, {}, capacity).missing;
    };
    const std::int64_t measured = row.at("result").at("max_batch");
    EXPECT_TRUE(fits(measured)) << title_of(test_case);
    EXPECT_FALSE(fits(measured + 1)) << title_of(test_case);
    ++cases;
  }
  EXPECT_EQ(cases, 2);
}

}  // namespace
}  // namespace vramfit::pytorch
