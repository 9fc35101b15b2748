#include "bench/rows/sweep.h"

#include <gtest/gtest.h>

#include <iostream>

#include "bench/command/selection.h"
#include "model/errors.h"

namespace vramfit::bench {
namespace {

constexpr const char* kTraining = R"({"schema": 1, "families": [
  {"family": "Training", "model": ["llama2-7b", "gpt2-124m"], "precision": ["fp16"],
   "optimizer": ["adamw", "sgd"], "batch": [1, 2, 4], "seq": [512]},
  {"family": "Inference", "model": ["llama2-7b"], "precision": ["fp32", "fp16"], "batch": [1],
   "seq": [512]}]})";

std::vector<std::string> names(const std::vector<Row>& rows) {
  std::vector<std::string> list;
  for (const Row& row : rows) list.push_back(row.name());
  return list;
}

AxisLists typed(Axis axis, std::vector<std::string> values) {
  AxisLists lists;
  lists[index(axis)] = std::move(values);
  return lists;
}

TEST(Sweep, IsTheUnionOfProducts) {
  const auto rows = names(expand(parse_sweep(kTraining, "test")));
  ASSERT_EQ(rows.size(), 2U * 2 * 3 + 2);
  EXPECT_EQ(rows.front(), "Training/llama2-7b/fp16/adamw/batch:1/seq:512");
  EXPECT_EQ(rows.at(1), "Training/llama2-7b/fp16/adamw/batch:2/seq:512");
  EXPECT_EQ(rows.back(), "Inference/llama2-7b/fp16/batch:1/seq:512");
}

TEST(Sweep, TypedValuesReplaceAnAxisWhereAFamilyHasIt) {
  const auto rows =
      names(expand(parse_sweep(kTraining, "test"), typed(Axis::Optimizer, {"adamw-same"})));
  ASSERT_EQ(rows.size(), 2U * 3 + 2);
  EXPECT_EQ(rows.front(), "Training/llama2-7b/fp16/adamw-same/batch:1/seq:512");
  EXPECT_EQ(rows.back(), "Inference/llama2-7b/fp16/batch:1/seq:512");
}

TEST(Sweep, RowsThatCoincideAreOne) {
  const auto rows = names(expand(parse_sweep(kTraining, "test"), typed(Axis::Precision, {"bf16"})));
  EXPECT_EQ(rows.size(), 2U * 2 * 3 + 1);
  EXPECT_EQ(rows.back(), "Inference/llama2-7b/bf16/batch:1/seq:512");
}

// Special rows of other sizes have to be asked for; a family of nothing else keeps them.
TEST(Sweep, SpecialRowsAreLeftOutWhereAnAxisIsReplaced) {
  const auto entries = parse_sweep(
      R"({"schema": 1, "families": [
  {"family": "Training", "model": ["llama2-7b"], "precision": ["bf16"], "optimizer": ["adamw"],
   "batch": [1], "seq": [512]},
  {"family": "Training", "model": ["llama2-7b"], "precision": ["bf16"], "optimizer": ["adamw"],
   "batch": [1], "seq": [512], "checkpoint": ["full"]},
  {"family": "Inference", "model": ["llama2-7b"], "precision": ["bf16"], "batch": [1],
   "seq": [512], "generate": [32]}]})",
      "test");
  EXPECT_EQ(expand(entries).size(), 3U);
  EXPECT_EQ(names(expand(entries, typed(Axis::Batch, {"2"}))),
            (std::vector<std::string>{"Training/llama2-7b/bf16/adamw/batch:2/seq:512",
                                      "Inference/llama2-7b/bf16/batch:2/seq:512/generate:32"}));
  AxisLists both = typed(Axis::Batch, {"2"});
  both[index(Axis::Checkpoint)] = {"full"};
  EXPECT_EQ(names(expand(entries, both)).front(),
            "Training/llama2-7b/bf16/adamw/batch:2/seq:512/checkpoint:full");
}

std::string entry(const std::string& keys) {
  return R"({"schema": 1, "families": [{)" + keys + "}]}";
}

TEST(Sweep, RefusesFilesThatAreNotAsDescribed) {
  const std::string good = R"("family": "Inference", "model": ["a"], "batch": [1], "seq": [512])";
  EXPECT_NO_THROW(parse_sweep(entry(good + R"(, "precision": ["fp16"])"), "test"));
  for (const std::string& text : {
           std::string("[]"),
           std::string(R"({"families": []})"),
           std::string(R"({"schema": 2, "families": []})"),
           std::string(R"({"schema": 1})"),
           std::string(R"({"schema": 1, "families": [1]})"),
           entry(R"("model": ["a"])"),
           entry(R"("family": "MultiGpu")"),
           entry(good),  // no precision
           entry(good + R"(, "precision": [])"),
           entry(good + R"(, "precision": "fp16")"),
           entry(good + R"(, "precision": ["int9"])"),
           entry(good + R"(, "precision": [true])"),
           entry(good + R"(, "precision": ["fp16"], "generate": [0])"),
           entry(good + R"(, "precision": ["fp16"], "optimizer": ["adamw"])"),
           entry(good + R"(, "precision": ["fp16"], "colour": ["red"])"),
       }) {
    EXPECT_THROW(parse_sweep(text, "test"), BadInput) << text;
  }
}

class Selecting : public testing::Test {
 protected:
  Selection select(const AxisLists& values, const std::string& filter = "") {
    return bench::select(expand(parse_sweep(kTraining, "test"), values), values, Filter(filter),
                         target_, models_);
  }

  Target target_{"virtual:h200", {}};
  Models models_;
};

TEST_F(Selecting, KeepsWhatTheFilterSelects) {
  EXPECT_EQ(select({}, "batch:2").cases.size(), 4U);
  EXPECT_TRUE(select({}, "batch:3").cases.empty());
}

TEST_F(Selecting, LeavesOutTypedCombinationsThatCannotBe) {
  AxisLists values = typed(Axis::Precision, {"fp32", "bf16"});
  values[index(Axis::Optimizer)] = {"adamw-master"};
  const Selection selection = select(values);
  EXPECT_EQ(selection.cases.size(), 2U * 3 + 2);  // bf16 training, inference in both
  ASSERT_EQ(selection.left_out.size(), 1U);
  EXPECT_EQ(selection.left_out.begin()->second, 2 * 3);
}

TEST_F(Selecting, RefusesATypedValueThatNoRowCanHave) {
  AxisLists values = typed(Axis::Seq, {"512", "4096"});
  EXPECT_NO_THROW(select(values));  // llama2-7b has as many positions, gpt2-124m has not
  values[index(Axis::Model)] = {"gpt2-124m"};
  EXPECT_THROW(select(values), BadInput);
  values = typed(Axis::Precision, {"fp32"});
  values[index(Axis::Optimizer)] = {"adamw-master"};
  EXPECT_THROW(select(values), BadInput);
  EXPECT_THROW(select(typed(Axis::Precision, {"fp64"})), BadInput);
  EXPECT_THROW(select(typed(Axis::LoraTargets, {"all-linear"})), BadInput) << "without adapters";
}

TEST_F(Selecting, RefusesATypedAxisThatNoSelectedRowHas) {
  EXPECT_THROW(select(typed(Axis::Gpu, {"rtx4090"})), BadInput);
  EXPECT_THROW(select(typed(Axis::Optimizer, {"sgd"}), "Inference"), BadInput);
}

TEST_F(Selecting, AMistakeInTheSweepItselfIsNotLeftOut) {
  const auto rows = expand(parse_sweep(entry(R"("family": "Inference", "model": ["gpt2-124m"],
      "precision": ["fp16"], "batch": [1], "seq": [512, 4096])"),
                                       "test"));
  EXPECT_THROW(bench::select(rows, {}, Filter(""), target_, models_), BadInput);
}

TEST_F(Selecting, SeveralCardsAreAnAxis) {
  target_ = Target("virtual:h200,rtx4090", {});
  const Selection selection = select({}, "Inference");
  ASSERT_EQ(selection.cases.size(), 4U);
  EXPECT_EQ(selection.cases.at(0).row.name(), "Inference/llama2-7b/fp32/batch:1/seq:512/gpu:h200");
  EXPECT_EQ(selection.cases.at(1).row.name(),
            "Inference/llama2-7b/fp32/batch:1/seq:512/gpu:rtx4090");
  EXPECT_LT(selection.cases.at(1).capacity(), selection.cases.at(0).capacity());
}

}  // namespace
}  // namespace vramfit::bench
