// What tapes say, folded where layers are alike, and played on a ledger.
#include "runtimes/pytorch/torch/memory/fold.h"

#include <gtest/gtest.h>

#include "estimator/models.h"
#include "model/errors.h"
#include "runtimes/pytorch/torch/memory/caching_allocator.h"
#include "runtimes/pytorch/torch/memory/playback.h"

namespace vramfit::pytorch {
namespace {

constexpr std::uint64_t kCapacity = std::uint64_t{1} << 30;

/// What `layers` layers do where each keeps something and frees it on the way back.
void there_and_back(Tape& tape, int layers, int other_layer = kNoLayer) {
  std::vector<Tape::Origin> kept;
  for (tape.layer = 0; tape.layer < layers; ++tape.layer) {
    const std::uint64_t bytes = tape.layer == other_layer ? 2048 : 1024;
    kept.push_back(tape.allocate(Category::Activations, bytes));
  }
  while (tape.layer-- > 0) {
    const auto layer = static_cast<std::size_t>(tape.layer);
    const Tape::Origin gradient = tape.allocate(Category::Gradients, 512);
    tape.free(kept[layer], Category::Activations, 1024);
    tape.free(gradient, Category::Gradients, 512);
  }
}

ModelConfig of_layers(std::int64_t layers) {
  ModelConfig model = model_named("llama2-7b");
  model.layers = layers;
  return model;
}

TEST(Fold, LeavesOutWholeTurnsInTheMiddle) {
  EXPECT_EQ(Fold::of(of_layers(32)).walked(of_layers(32)).layers, 6);
  EXPECT_FALSE(Fold::of(of_layers(6)).folds());
  ModelConfig alternating = of_layers(31);
  alternating.sliding_window = 16;
  for (int i = 0; i < 31; ++i) alternating.sliding_layers.push_back(i % 2 == 0);
  EXPECT_EQ(Fold::of(alternating).walked(alternating).layers, 9);
  alternating.sliding_layers[20] = false;
  EXPECT_FALSE(Fold::of(alternating).folds());
}

TEST(Fold, UnfoldsUpAndDown) {
  const Fold fold = Fold::of(of_layers(10));
  Tape tape(10);
  there_and_back(tape, 6);
  const Recording recording = tape.take();
  ASSERT_TRUE(fold.holds_for(recording));
  std::vector<std::int64_t> layers;
  for (const Fold::Unfolded& visit : fold.unfold(recording)) layers.push_back(visit.layer);
  EXPECT_EQ(layers,
            (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
}

TEST(Fold, DoesNotHoldWhereLayersDiffer) {
  const Fold fold = Fold::of(of_layers(10));
  const auto holds = [&](const auto& acts) {
    Tape tape(10);
    acts(tape);
    return fold.holds_for(tape.take());
  };
  EXPECT_TRUE(holds([](Tape& tape) { there_and_back(tape, 6, 5); }));
  EXPECT_FALSE(holds([](Tape& tape) { there_and_back(tape, 6, 3); }));
  EXPECT_FALSE(holds([](Tape& tape) { there_and_back(tape, 3); })) << "not through all of them";
  EXPECT_FALSE(holds([](Tape& tape) {
    tape.layer = 0;
    const Tape::Origin far = tape.allocate(Category::Inputs, 1);
    tape.layer = 5;
    tape.free(far, Category::Inputs, 1);
  })) << "which of the layers between is meant?";
}

TEST(TapePlayback, RefusesLayersThatDiffer) {
  CachingAllocator allocator;
  Ledger ledger(allocator, Counts::Blocks);
  Playback playback(ledger, Fold::of(of_layers(10)));
  Tape tape(10);
  there_and_back(tape, 6, 3);
  EXPECT_THROW(playback.ready(tape.take()), LayersDiffer);
}

TEST(TapePlayback, EndsTheStageThatMemoryEndsIn) {
  CachingAllocator allocator(kCapacity);
  Ledger ledger(allocator, Counts::Blocks);
  Playback playback(ledger, Fold::none(of_layers(1)));
  Tape tape(1);
  tape.begin_stage(Stage::Forward);
  tape.use_libraries(DriverCode::Other, 7);
  tape.allocate(Category::Activations, 2 * kCapacity);
  tape.use_libraries(DriverCode::Other, 9);
  tape.end_stage();
  EXPECT_THROW(playback.play(playback.ready(tape.take()), 1), OutOfMemory);
  ASSERT_EQ(ledger.stages().size(), 1U);
  EXPECT_TRUE(ledger.stages()[0].out_of_memory);
  ASSERT_EQ(playback.beside().size(), 1U);
  EXPECT_EQ(playback.beside()[0].libraries, 7U) << "as it was by then";
}

TEST(TapePlayback, EmptiesTheCacheAndCountsManagedMemory) {
  CachingAllocator allocator(kCapacity);
  Ledger ledger(allocator, Counts::Blocks);
  Playback playback(ledger, Fold::none(of_layers(1)));
  Tape tape(1);
  tape.begin_stage(Stage::Loaded);
  tape.free(tape.allocate(Category::Parameters, kCapacity / 2), Category::Parameters,
            kCapacity / 2);
  tape.use_managed(3);
  tape.end_stage();
  tape.begin_stage(Stage::Forward);
  tape.empty_cache();
  tape.use_managed(4);
  tape.end_stage();
  playback.play(playback.ready(tape.take()), 1);
  EXPECT_EQ(ledger.stages()[0].reserved, kCapacity / 2);
  EXPECT_EQ(ledger.stages()[1].reserved, 0U);
  EXPECT_EQ(playback.beside()[0].managed, 3U);
  EXPECT_EQ(playback.beside()[1].managed, 7U);
}

}  // namespace
}  // namespace vramfit::pytorch
