#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "bench/devices/launch.h"
#include "estimator/models.h"
#include "model/parallel/pipeline.h"
#include "runtimes/vramfit/dry_run.h"
#include "runtimes/vramfit/pipeline_split.h"
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

/// Runs `body` as each rank of the mesh, or alone as the only one. Throws what one of them threw.
void on_gpus(const Mesh& mesh, const std::function<void(const Mesh&, CudaDevice&)>& body) {
  const std::string address = "127.0.0.1:" + std::to_string(bench::free_port());
  std::mutex mutex;
  std::exception_ptr failed;
  std::vector<std::thread> threads;
  for (std::int64_t rank = 0; rank < mesh.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        CudaOptions options;
        options.device = static_cast<int>(rank);
        Mesh own = mesh;
        own.rank = rank;
        if (!mesh.alone()) {
          options.rank = CudaRank{mesh.ranks, rank, address, correspondents(own)};
        }
        CudaDevice device(options);
        body(own, device);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failed = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failed) std::rethrow_exception(failed);
}

/// By the parameters' names.
using Values = std::map<std::string, std::vector<double>>;

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

/// What a rank has of a parameter or of its gradient.
struct Piece {
  std::string name;
  bool part;  ///< of a whole that ranks cut
  std::size_t stored;
  std::vector<double> values;
};

Piece piece_of(Device& device, const Parameter& p, const Tensor& own) {
  return {p.spec.name.text(), p.storage.has_value(),
          static_cast<std::size_t>(p.spec.stored.elements()), values_on(device, own)};
}

/// Rank by rank: adds a part, or keeps the whole that every rank has which has one.
Values put_together(const std::vector<std::vector<Piece>>& ranks) {
  Values all;
  for (const std::vector<Piece>& pieces : ranks) {
    for (const Piece& piece : pieces) {
      std::vector<double>& to = all[piece.name];
      if (!piece.part) to.clear();
      to.insert(to.end(), piece.values.begin(), piece.values.end());
      if (to.size() > piece.stored) to.resize(piece.stored);
    }
  }
  return all;
}

/// In fp32, three steps; each rank has its share of every batch, one GPU all of it, and so has each
/// stage of a pipeline.
Trained train(const ModelConfig& config, TrainingOptions options) {
  constexpr int kSteps = 3;
  const std::int64_t at_once = options.mesh.batches();
  const std::int64_t of_rank = options.accumulate * options.batch * options.seq;
  const auto ranks = static_cast<std::size_t>(options.mesh.ranks);
  std::vector<std::vector<double>> losses(ranks);
  std::vector<std::vector<Piece>> gradients(ranks);
  std::vector<std::vector<Piece>> parameters(ranks);
  on_gpus(options.mesh, [&](const Mesh& mesh, CudaDevice& device) {
    GpuRun run;
    TrainingOptions own = options;
    own.mesh = mesh;
    Trainer trainer(device, run.ledger, config, own);
    const auto share = [&](std::uint64_t seed) {
      const auto all = random_tokens(at_once * of_rank, config.vocab, seed);
      const std::int64_t first = mesh.rank % at_once * of_rank;
      return std::vector<std::int32_t>(all.begin() + first, all.begin() + first + of_rank);
    };
    const BatchLoader batches = micro_batches(share(1), share(2));
    const auto rank = static_cast<std::size_t>(mesh.rank);
    for (int step = 0; step < kSteps; ++step) {
      trainer.forward_and_backward(batches);
      device.synchronize();
      for (const Parameter* p : trainer.model().weights.trained()) {
        if (step == 0) gradients[rank].push_back(piece_of(device, *p, p->own_gradient()));
      }
      trainer.update();
      device.synchronize();
      losses[rank].push_back(trainer.loss());
    }
    for (const Parameter* p : trainer.model().weights.trained()) {
      parameters[rank].push_back(piece_of(device, *p, p->own_value()));
    }
  });
  for (const std::vector<double>& told : losses) EXPECT_EQ(told, losses.front());
  return {losses.front(), put_together(gradients), put_together(parameters)};
}

void expect_equal(const Trained& ranks, const Trained& one) {
  EXPECT_LT(relative_error(ranks.losses, one.losses), 1e-5);
  ASSERT_EQ(ranks.gradients.size(), one.gradients.size());
  for (const auto& [name, gradient] : one.gradients) {
    EXPECT_LT(relative_error(ranks.gradients.at(name), gradient), 1e-4) << name;
    EXPECT_LT(relative_error(ranks.parameters.at(name), one.parameters.at(name)), 1e-5) << name;
  }
}

TrainingOptions in_fp32(std::int64_t accumulate) {
  TrainingOptions options;
  options.precision = DType::Fp32;
  options.optimizer = optimizer_named("sgd-momentum");
  options.settings.learning_rate = 0.1F;
  options.seq = 32;
  options.accumulate = accumulate;
  return options;
}

TEST(RanksOnGpus, TrainAsOneGpuDoes) {
  VRAMFIT_NEEDS_GPUS();
  for (const std::int64_t accumulate : {1, 2}) {
    const Trained one = train(small_llama(), in_fp32(accumulate * kRanks));
    for (const Strategy strategy : kStrategies) {
      SCOPED_TRACE(std::string(name(strategy)) + ", accumulate " + std::to_string(accumulate));
      TrainingOptions options = in_fp32(accumulate);
      options.mesh = {strategy, kRanks, 0};
      expect_equal(train(small_llama(), options), one);
    }
  }
}

TEST(RanksOnGpus, TrainInStagesAsOneGpuDoes) {
  VRAMFIT_NEEDS_GPUS();
  ModelConfig tied = small_llama();
  tied.tied_head = true;
  for (const ModelConfig& config : {small_llama(), tied}) {
    for (const std::int64_t accumulate : {1, 5}) {
      SCOPED_TRACE(std::string(config.tied_head ? "tied" : "") + ", micro-batches " +
                   std::to_string(accumulate));
      TrainingOptions options = in_fp32(accumulate);
      const Trained one = train(config, options);
      options.mesh = {Strategy::Pipeline, kRanks, 0, {1, config.layers - 1}};
      expect_equal(train(config, options), one);
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
        Shared{"llama2-7b", "int8", "adamw", Fsdp, 2, Checkpoint::Full, 16},
        Shared{"llama2-7b", "bf16", "adamw-same", Pipeline, 4, Checkpoint::None, 0},
        Shared{"gpt2-124m", "fp16", "adafactor", Pipeline, 3, Checkpoint::Selective, 0},
        Shared{"tinyllama-1.1b", "nf4", "adamw", Pipeline, 1, Checkpoint::Full, 16}}) {
    TrainingOptions options;
    options.precision = parse_model_precision(s.precision);
    options.optimizer = optimizer_named(s.optimizer);
    options.accumulate = s.accumulate;
    options.checkpointing.kind = s.checkpoint;
    options.seq = 500;
    const ModelConfig config = model_named(s.model);
    if (s.lora > 0) options.lora = LoraOptions{s.lora, 16.0F, usual_lora_targets(config)};
    options.mesh = {s.strategy, kRanks, 0};
    options = with_split(gpu_arch(0), config, options);
    on_gpus(options.mesh, [&](const Mesh& mesh, CudaDevice& device) {
      SCOPED_TRACE(std::string(s.model) + " " + s.precision + " " + name(s.strategy) + ", rank " +
                   std::to_string(mesh.rank));
      TrainingOptions own = options;
      own.mesh = mesh;
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
