#include "model/parallel/pipeline.h"

#include <gtest/gtest.h>

#include <string>

namespace vramfit {
namespace {

/// "F0 F1 B0 B1".
std::string written(const Mesh& mesh, std::int64_t micro_batches) {
  std::string text;
  for (const Pass& pass : passes_of(mesh, micro_batches)) {
    text += (text.empty() ? "" : " ") + std::string(pass.backward ? "B" : "F") +
            std::to_string(pass.micro_batch);
  }
  return text;
}

// Narayanan et al. 2021, "Efficient Large-Scale Language Model Training on GPU Clusters Using
// Megatron-LM", figure 3, of four stages.
TEST(Pipeline, GoesForwardAndBackInTurn) {
  const auto stage = [](std::int64_t rank, std::int64_t micro_batches) {
    return written({Strategy::Pipeline, 4, rank, {}}, micro_batches);
  };
  EXPECT_EQ(stage(0, 6), "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5");
  EXPECT_EQ(stage(1, 6), "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5");
  EXPECT_EQ(stage(2, 6), "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5");
  EXPECT_EQ(stage(3, 6), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
  EXPECT_EQ(stage(0, 2), "F0 F1 B0 B1");
  EXPECT_EQ(stage(2, 1), "F0 B0");
  EXPECT_EQ(written({Strategy::Fsdp, 4, 0, {}}, 2), "F0 B0 F1 B1");
  EXPECT_EQ(written({}, 2), "F0 B0 F1 B1");
}

TEST(Pipeline, HasEmbeddingsAtItsStartAndTheHeadAtItsEnd) {
  const auto stage = [](std::int64_t rank) {
    return stage_of({Strategy::Pipeline, 3, rank, {2, 3, 1}}, 6);
  };
  EXPECT_EQ(stage(0).first, 0);
  EXPECT_EQ(stage(0).end, 2);
  EXPECT_TRUE(stage(0).embeds && !stage(0).has_head);
  EXPECT_EQ(stage(1).first, 2);
  EXPECT_EQ(stage(1).end, 5);
  EXPECT_FALSE(stage(1).embeds || stage(1).has_head);
  EXPECT_EQ(stage(2).end, 6);
  EXPECT_TRUE(!stage(2).embeds && stage(2).has_head);
  const PipelineStage all = stage_of({Strategy::Ddp, 3, 2, {}}, 6);
  EXPECT_TRUE(all.first == 0 && all.end == 6 && all.embeds && all.has_head);
  EXPECT_THROW(stage_of({Strategy::Pipeline, 3, 0, {2, 3}}, 5), std::logic_error);
  EXPECT_THROW(stage_of({Strategy::Pipeline, 2, 0, {2, 3}}, 6), std::logic_error);
}

TEST(Pipeline, ExchangesWithNeighboursAndTheEndsWithEachOther) {
  const auto others = [](std::int64_t rank) {
    return correspondents({Strategy::Pipeline, 4, rank, {}});
  };
  using List = std::vector<std::int64_t>;
  EXPECT_EQ(others(0), (List{1, 3}));
  EXPECT_EQ(others(1), (List{0, 2}));
  EXPECT_EQ(others(3), (List{0, 2}));
  EXPECT_EQ(correspondents({Strategy::Pipeline, 2, 1, {}}), (List{0}));
  EXPECT_EQ(correspondents({Strategy::Ddp, 4, 1, {}}), List{});
}

}  // namespace
}  // namespace vramfit
