#include <exception>
#include <mutex>
#include <thread>

#include "bench/devices/launch.h"
#include "estimator/models.h"
#include "runtimes/vramfit/dry_run.h"
#include "tests/kernels/cuda/support/gpu_run.h"
#include "tests/kernels/cuda/support/witness.h"
#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/tiny_models.h"

// Ranks on GPUs of their own, each a thread: what NCCL carries, and that every rank's ledger is the
// virtual one's.

namespace vramfit {
namespace {

constexpr std::int64_t kRanks = 2;
constexpr Strategy kStrategies[] = {Strategy::Ddp, Strategy::Zero1, Strategy::Zero2,
                                    Strategy::Fsdp};

#define VRAMFIT_NEEDS_GPUS()                                                       \
  if (gpu_count() < kRanks) GTEST_SKIP() << "skipped: " << gpu_count() << " GPUs"; \
  static_assert(true, "a semicolon follows")

/// Runs `body` as each rank, or alone as the only one. Throws what one of them threw.
void on_gpus(std::int64_t ranks, const std::function<void(std::int64_t, CudaDevice&)>& body) {
  const std::string address = "127.0.0.1:" + std::to_string(bench::free_port());
  std::mutex mutex;
  std::exception_ptr failed;
  std::vector<std::thread> threads;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        CudaOptions options;
        options.device = static_cast<int>(rank);
        if (ranks > 1) options.rank = CudaRank{ranks, rank, address};
        CudaDevice device(options);
        body(rank, device);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failed = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failed) std::rethrow_exception(failed);
}

using Values = std::vector<std::vector<double>>;

std::vector<double> values_on(Device& device, const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.stored().elements()));
  device.download(values.data(), tensor, tensor.bytes());
  return {values.begin(), values.end()};
}

struct Trained {
  std::vector<double> losses;
  Values gradients;
  Values parameters;
};

/// In fp32, three steps; each rank has its share of every batch, one GPU all of it.
Trained train(const ModelConfig& config, TrainingOptions options) {
  constexpr int kSteps = 3;
  const std::int64_t ranks = options.mesh.ranks;
  const std::int64_t of_rank = options.accumulate * options.batch * options.seq;
  std::vector<Trained> parts(static_cast<std::size_t>(ranks));
  std::vector<std::vector<std::size_t>> stored(1);
  on_gpus(ranks, [&](std::int64_t rank, CudaDevice& device) {
    GpuRun run;
    TrainingOptions own = options;
    own.mesh.rank = rank;
    Trainer trainer(device, run.ledger, config, own);
    const auto share = [&](std::uint64_t seed) {
      const auto all = random_tokens(ranks * of_rank, config.vocab, seed);
      return std::vector<std::int32_t>(all.begin() + rank * of_rank,
                                       all.begin() + (rank + 1) * of_rank);
    };
    const BatchLoader batches = micro_batches(share(1), share(2));
    Trained& part = parts[static_cast<std::size_t>(rank)];
    for (int step = 0; step < kSteps; ++step) {
      trainer.forward_and_backward(batches);
      device.synchronize();
      for (const Parameter* p : trainer.model().weights.trained()) {
        if (step == 0) part.gradients.push_back(values_on(device, p->own_gradient()));
        if (step == 0 && rank == 0) {
          stored.front().push_back(static_cast<std::size_t>(p->spec.stored.elements()));
        }
      }
      trainer.update();
      device.synchronize();
      part.losses.push_back(trainer.loss());
    }
    for (const Parameter* p : trainer.model().weights.trained()) {
      part.parameters.push_back(values_on(device, p->own_value()));
    }
  });
  Trained all = parts.front();
  const bool cut = options.mesh.shards_states();
  for (std::size_t rank = 1; cut && rank < parts.size(); ++rank) {
    for (std::size_t i = 0; i < all.gradients.size(); ++i) {
      const auto append = [](auto& to, const auto& more) {
        to.insert(to.end(), more.begin(), more.end());
      };
      append(all.gradients[i], parts[rank].gradients[i]);
      append(all.parameters[i], parts[rank].parameters[i]);
    }
  }
  for (std::size_t i = 0; i < all.gradients.size(); ++i) {
    all.gradients[i].resize(stored.front()[i]);
    all.parameters[i].resize(stored.front()[i]);
  }
  return all;
}

TEST(RanksOnGpus, TrainAsOneGpuDoes) {
  VRAMFIT_NEEDS_GPUS();
  for (const std::int64_t accumulate : {1, 2}) {
    TrainingOptions options;
    options.precision = DType::Fp32;
    options.optimizer = optimizer_named("sgd-momentum");
    options.settings.learning_rate = 0.1F;
    options.seq = 32;
    options.accumulate = accumulate * kRanks;
    const ModelConfig config = small_llama();
    const Trained one = train(config, options);
    options.accumulate = accumulate;
    for (const Strategy strategy : kStrategies) {
      SCOPED_TRACE(std::string(name(strategy)) + ", accumulate " + std::to_string(accumulate));
      options.mesh = {strategy, kRanks, 0};
      const Trained ranks = train(config, options);
      EXPECT_LT(relative_error(ranks.losses, one.losses), 1e-5);
      ASSERT_EQ(ranks.gradients.size(), one.gradients.size());
      for (std::size_t i = 0; i < one.gradients.size(); ++i) {
        EXPECT_LT(relative_error(ranks.gradients[i], one.gradients[i]), 1e-4) << i;
        EXPECT_LT(relative_error(ranks.parameters[i], one.parameters[i]), 1e-5) << i;
      }
    }
  }
}

/// One card's witness of what its pool has not.
TEST(RanksOnGpus, HaveTheLedgersOfVirtualOnes) {
  VRAMFIT_NEEDS_GPUS();
  struct Shared {
    const char* model;
    const char* precision;
    const char* optimizer;
    Strategy strategy;
    std::int64_t accumulate;
    Checkpoint checkpoint;
    std::int64_t lora;
  };
  using enum Strategy;
  for (const Shared& s :
       {Shared{"llama2-7b", "bf16", "adamw-same", Ddp, 1, Checkpoint::None, 0},
        Shared{"llama2-7b", "bf16", "adamw-same", Fsdp, 1, Checkpoint::None, 0},
        Shared{"qwen2-0.5b", "fp16", "adamw-master", Zero1, 2, Checkpoint::None, 0},
        Shared{"qwen2-0.5b", "fp16", "adamw-8bit", Zero2, 2, Checkpoint::Selective, 0},
        Shared{"tinyllama-1.1b", "fp32", "lion", Fsdp, 3, Checkpoint::Full, 0},
        Shared{"gpt2-124m", "bf16", "adafactor", Ddp, 1, Checkpoint::None, 0},
        Shared{"tinyllama-1.1b", "nf4", "adamw", Fsdp, 1, Checkpoint::None, 16},
        Shared{"llama2-7b", "int8", "adamw", Fsdp, 2, Checkpoint::Full, 16}}) {
    TrainingOptions options;
    options.precision = parse_model_precision(s.precision);
    options.optimizer = optimizer_named(s.optimizer);
    options.accumulate = s.accumulate;
    options.checkpointing.kind = s.checkpoint;
    options.seq = 500;
    const ModelConfig config = model_named(s.model);
    if (s.lora > 0) options.lora = LoraOptions{s.lora, 16.0F, usual_lora_targets(config)};
    on_gpus(kRanks, [&](std::int64_t rank, CudaDevice& device) {
      SCOPED_TRACE(std::string(s.model) + " " + s.precision + " " + name(s.strategy) + ", rank " +
                   std::to_string(rank));
      TrainingOptions own = options;
      own.mesh = {s.strategy, kRanks, rank};
      const std::uint64_t capacity = std::uint64_t{64} << 30;
      {
        GpuRun unobserved(capacity);
        run_training(device, unobserved.ledger, config, own);
      }
      GpuRun observed(capacity);
      Witness witness(observed.pool);
      observed.ledger.set_observer(&witness);
      const RunReport real = run_training(device, observed.ledger, config, own);
      const RunReport predicted = dry_run({device.arch(), capacity}, config, own);
      EXPECT_EQ(first_difference(real.events, predicted.events), std::nullopt);
      EXPECT_EQ(real.reserved, predicted.reserved);
      EXPECT_FALSE(real.missing);
      EXPECT_EQ(witness.differences, 0) << witness.first;
    });
  }
}

}  // namespace
}  // namespace vramfit
