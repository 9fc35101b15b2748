#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "model/errors.h"
#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/rank_threads.h"
#include "tests/kernels/support/tiny_models.h"
#include "tests/kernels/support/workbench.h"

// Ranks that share a model train it as one GPU does on all their batches.

namespace vramfit {
namespace {

constexpr int kSteps = 3;
constexpr Strategy kStrategies[] = {Strategy::Ddp, Strategy::Zero1, Strategy::Zero2,
                                    Strategy::Fsdp};

using Values = std::map<std::string, std::vector<double>>;

/// Each trained parameter's, put together of what ranks have.
struct Trained {
  std::vector<double> losses;
  Values gradients;  ///< of the first step
  Values parameters;
};

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  const auto same_value = [](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y));
  };
  return std::ranges::equal(a, b, same_value);
}

/// Adds a rank's part, or the whole, which is the same on every rank that has it.
void put_together(Values& all, const Parameter& p, const Tensor& own) {
  const std::vector<double> values = values_of(own);
  std::vector<double>& to = all[p.spec.name.text()];
  if (!p.storage && !to.empty()) {
    EXPECT_TRUE(same(values, to)) << p.spec.name.text() << ": ranks differ";
    return;
  }
  to.insert(to.end(), values.begin(), values.end());
  const auto stored = static_cast<std::size_t>(p.spec.stored.elements());
  if (to.size() > stored) to.resize(stored);
}

/// Rank by rank, of all that `each` yields.
template <typename Each>
Values collected(const std::vector<const Weights*>& ranks, const Each& each) {
  Values all;
  for (const Weights* weights : ranks) {
    for (const Parameter* p : weights->trained()) put_together(all, *p, each(*p));
  }
  return all;
}

/// The same batch in every step; each rank has its share of it, and a pipeline's all of it.
Trained train(const ModelConfig& config, TrainingOptions options) {
  const std::int64_t ranks = options.mesh.ranks;
  const std::int64_t of_rank = options.accumulate * options.batch * options.seq;
  const std::int64_t batches_at_once = options.mesh.batches();
  std::vector<std::unique_ptr<Trainer>> trainers(static_cast<std::size_t>(ranks));
  HostRanks meeting(ranks);
  Trained result;
  std::mutex turn;
  const auto weights = [&] {
    std::vector<const Weights*> all;
    for (const auto& trainer : trainers) all.push_back(&trainer->model().weights);
    return all;
  };
  on_ranks(ranks, [&](std::int64_t rank, RankHost& host) {
    TrainingOptions own = options;
    own.mesh.rank = rank;
    auto& trainer = trainers[static_cast<std::size_t>(rank)];
    trainer = std::make_unique<Trainer>(host.device, host.ledger, config, own);
    const auto part = [&](std::uint64_t seed) {
      const auto all = random_tokens(batches_at_once * of_rank, config.vocab, seed);
      const std::int64_t first = rank % batches_at_once * of_rank;
      return std::vector<std::int32_t>(all.begin() + first, all.begin() + first + of_rank);
    };
    const BatchLoader batches = micro_batches(part(1), part(2));
    const auto together = [&](const auto& body) {
      meeting.meet(rank, nullptr, [&](const auto&) {
        if (rank == 0) body();
      });
    };
    for (int step = 0; step < kSteps; ++step) {
      trainer->forward_and_backward(batches);
      together([&] {
        if (step > 0) return;
        result.gradients = collected(weights(), [](auto& p) { return p.own_gradient(); });
      });
      trainer->update();
      together([&] { result.losses.push_back(trainer->loss()); });
    }
    together(
        [&] { result.parameters = collected(weights(), [](auto& p) { return p.own_value(); }); });
    trainer.reset();
    EXPECT_EQ(host.ledger.allocated(), 0U);
  });
  return result;
}

void expect_equal(const Trained& ranks, const Trained& one, double bound) {
  EXPECT_LT(relative_error(ranks.losses, one.losses), bound);
  ASSERT_EQ(ranks.gradients.size(), one.gradients.size());
  for (const auto& [name, gradient] : one.gradients) {
    EXPECT_LT(relative_error(ranks.gradients.at(name), gradient), bound) << name;
    EXPECT_LT(relative_error(ranks.parameters.at(name), one.parameters.at(name)), bound) << name;
  }
}

/// One GPU with a micro-batch for each that the ranks have.
Trained alone(const ModelConfig& config, TrainingOptions options, std::int64_t ranks) {
  options.accumulate *= ranks;
  return train(config, options);
}

TEST(Ranks, HaveTheGradientsAndLossesOfOneGpu) {
  TrainingOptions options;
  options.seq = 5;
  options.precision = DType::Fp64;
  options.optimizer = optimizer_named("sgd-momentum");
  options.settings.learning_rate = 0.1F;
  for (const ModelConfig& config : tiny_models()) {
    for (const std::int64_t accumulate : {1, 2}) {
      options.accumulate = accumulate;
      // 3 does not divide what a model has: parts are padded.
      for (const std::int64_t ranks : {2, 3}) {
        const Trained one = alone(config, options, ranks);
        for (const Strategy strategy : kStrategies) {
          SCOPED_TRACE(config.name + ", " + name(strategy) + " of " + std::to_string(ranks) +
                       ", accumulate " + std::to_string(accumulate));
          TrainingOptions shared = options;
          shared.mesh = {strategy, ranks, 0};
          expect_equal(train(config, shared), one, 1e-11);
        }
      }
    }
  }
}

bool same(const Values& a, const Values& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && same(x.second, y.second);
  });
}

/// Sums over ranks are the same, and so is all that comes of them, bit for bit. A tied head's are
/// taken in two parts where gradients are cut, and are the same but for rounding.
void expect_cuts_as_ddp(const ModelConfig& config, TrainingOptions options, std::int64_t ranks) {
  options.mesh = {Strategy::Ddp, ranks, 0};
  const Trained whole = train(config, options);
  for (const Strategy strategy : {Strategy::Zero1, Strategy::Zero2, Strategy::Fsdp}) {
    SCOPED_TRACE(std::string(name(strategy)) + " of " + std::to_string(ranks));
    options.mesh.strategy = strategy;
    const Trained cut = train(config, options);
    EXPECT_EQ(cut.losses, whole.losses);
    EXPECT_TRUE(same(cut.gradients, whole.gradients));
    EXPECT_TRUE(same(cut.parameters, whole.parameters));
  }
}

TEST(Ranks, TrainAlikeWithEveryOptimizer) {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    if (kind.stored == OptimizerKind::Stored::Factors || kind.on_host) continue;
    for (const DType precision : {DType::Fp32, DType::Fp16, DType::Bf16}) {
      if (kind.master && precision == DType::Fp32) continue;
      SCOPED_TRACE(std::string(kind.name) + " " + name(precision));
      TrainingOptions options;
      options.seq = 5;
      options.optimizer = kind;
      options.precision = precision;
      options.settings.learning_rate = 1e-2F;
      options.checkpointing.kind = Checkpoint::Full;
      expect_cuts_as_ddp(tiny_qwen3(), options, 3);
    }
  }
}

/// A model of so many blocks, split unevenly.
TrainingOptions in_stages(TrainingOptions options, std::vector<std::int64_t> blocks) {
  options.mesh = {Strategy::Pipeline, static_cast<std::int64_t>(blocks.size()), 0, blocks};
  return options;
}

/// Micro-batches go through the same ops in the same order, but for a tied head's gradients, whose
/// two parts are sums of their own.
TEST(Ranks, OfAPipelineTrainAsOneGpuDoes) {
  TrainingOptions options;
  options.seq = 5;
  options.optimizer = optimizer_named("sgd-momentum");
  options.settings.learning_rate = 0.1F;
  for (ModelConfig config : tiny_models()) {
    config.layers = 4;
    for (const DType precision : {DType::Fp64, DType::Fp16}) {
      if (precision != DType::Fp64 && config.tied_head) continue;
      options.precision = precision;
      // Fewer than there are stages, and more.
      for (const std::int64_t accumulate : {1, 2, 5}) {
        options.accumulate = accumulate;
        const Trained one = train(config, options);
        for (const auto& blocks : {std::vector<std::int64_t>{3, 1}, {1, 2, 1}, {1, 1, 1, 1}}) {
          SCOPED_TRACE(config.name + ", " + name(precision) + ", " + std::to_string(blocks.size()) +
                       " stages, " + std::to_string(accumulate) + " micro-batches");
          const Trained staged = train(config, in_stages(options, blocks));
          if (config.tied_head) {
            expect_equal(staged, one, 1e-11);
          } else {
            EXPECT_EQ(staged.losses, one.losses);
            EXPECT_TRUE(same(staged.gradients, one.gradients));
            EXPECT_TRUE(same(staged.parameters, one.parameters));
          }
        }
      }
    }
  }
}

TEST(Ranks, OfAPipelineTrainAdaptersAndWithCheckpointing) {
  ModelConfig config = small_llama();
  config.layers = 4;
  TrainingOptions options;
  options.seq = 9;
  options.accumulate = 3;
  options.precision = parse_model_precision("int8");
  options.lora = LoraOptions{4, 8.0F, lora_targets(config)};
  options.checkpointing = {Checkpoint::Full, 2};
  const Trained one = train(config, options);
  const Trained staged = train(config, in_stages(options, {1, 3}));
  EXPECT_EQ(staged.losses, one.losses);
  EXPECT_TRUE(same(staged.parameters, one.parameters));
}

TEST(Ranks, OfAPipelineTrainWithEveryOptimizer) {
  ModelConfig config = tiny_llama();
  config.layers = 3;
  for (const OptimizerKind& kind : optimizer_kinds()) {
    if (kind.on_host) continue;
    SCOPED_TRACE(kind.name);
    TrainingOptions options;
    options.seq = 5;
    options.optimizer = kind;
    options.precision = DType::Bf16;
    options.accumulate = 2;
    const Trained one = train(config, options);
    EXPECT_TRUE(same(train(config, in_stages(options, {2, 1})).parameters, one.parameters));
  }
}

TEST(Ranks, HaveNoHostsMemoryToThemselves) {
  TrainingOptions options;
  options.optimizer = optimizer_named("adamw-cpu");
  validate(tiny_llama(), options);
  for (const Strategy strategy : {Strategy::Ddp, Strategy::Fsdp, Strategy::Pipeline}) {
    options.mesh = {strategy, 2, 0};
    EXPECT_THROW(validate(tiny_llama(), options), BadInput);
  }
}

TEST(Ranks, TrainAdaptersBesideEveryKindOfWeight) {
  const ModelConfig config = small_llama();
  for (const ModelPrecision& precision : model_precisions()) {
    if (!precision.quantized()) continue;
    SCOPED_TRACE(precision.name);
    TrainingOptions options;
    options.seq = 9;
    options.precision = precision;
    options.lora = LoraOptions{4, 8.0F, lora_targets(config)};
    expect_cuts_as_ddp(config, options, 3);
  }
}

// Of one token the gradient of the loss, which fp16's scale multiplies, is too large for fp16: in
// the rows of one token alone, which one rank has.
TEST(Ranks, SkipAStepTogether) {
  TrainingOptions options;
  options.seq = 1;
  options.precision = DType::Fp16;
  options.settings.learning_rate = 1e-2F;
  options.mesh = {Strategy::Ddp, 2, 0};
  const Trained whole = train(tiny_llama(), options);
  ASSERT_EQ(whole.losses[0], whole.losses[1]) << "no step was skipped";
  expect_cuts_as_ddp(tiny_llama(), options, 2);
}

TEST(Ranks, OfAPipelineSkipAStepTogether) {
  TrainingOptions options;
  options.seq = 1;
  options.precision = DType::Fp16;
  options.settings.learning_rate = 1e-2F;
  ModelConfig config = tiny_llama();
  config.layers = 2;
  const Trained one = train(config, options);
  ASSERT_EQ(one.losses[0], one.losses[1]) << "no step was skipped";
  const Trained staged = train(config, in_stages(options, {1, 1}));
  EXPECT_EQ(staged.losses, one.losses);
  EXPECT_TRUE(same(staged.parameters, one.parameters));
}

/// One rank's error is the one that is told, and no other rank waits for it for ever.
TEST(Ranks, LeaveWhereOneOfThemDoes) {
  const auto run = [] {
    on_ranks(3, [](std::int64_t rank, RankHost& host) {
      TrainingOptions options;
      options.seq = 4;
      options.mesh = {Strategy::Fsdp, 3, rank};
      Trainer trainer(host.device, host.ledger, tiny_llama(), options);
      if (rank == 1) throw BadInput("the second rank's own");
      trainer.step(random_batches(8, 1));
    });
  };
  EXPECT_THROW(run(), BadInput);
}

}  // namespace
}  // namespace vramfit
