#include "estimator/estimate.h"

#include <benchmark/benchmark.h>

#include <memory>

#include "bench/rows/families.h"
#include "estimator/card_names.h"
#include "estimator/models.h"
#include "estimator/runtimes.h"
#include "runtimes/vramfit/dry_run.h"
#include "runtimes/vramfit/virtual_memory.h"

namespace vramfit::bench {
namespace {

constexpr std::int64_t kBatch = 4;
constexpr std::int64_t kSeq = 512;
constexpr const char* kTrainingLabel = "bf16, adamw, batch 4, seq 512, on an H200";
constexpr const char* kInferenceLabel = "bf16, batch 4, seq 512, on an H200";

VirtualGpu h200() { return {card_named("h200").arch}; }

TrainingOptions training() {
  TrainingOptions options;
  options.batch = kBatch;
  options.seq = kSeq;
  return options;
}

/// A virtual GPU with a model loaded and its first step, where optimizer states are born, taken.
struct Loaded {
  explicit Loaded(const ModelConfig& config)
      : trainer(device, memory.ledger(), config, training()) {
    trainer.step(batches);
  }
  VirtualMemory memory;
  VirtualDevice device{h200().arch};
  Trainer trainer;
  BatchLoader batches = random_batches(1, 1);
};

/// One training step, allocator and ledger included. Each starts from a ledger of one step, as a
/// dry run's second does, and not from one that has grown for thousands.
void training_step(::benchmark::State& state, const std::string& model) {
  const ModelConfig config = model_named(model);
  while (state.KeepRunning()) {
    state.PauseTiming();
    auto loaded = std::make_unique<Loaded>(config);
    state.ResumeTiming();
    loaded->trainer.step(loaded->batches);
    auto peak = loaded->memory.ledger().peak().allocated;
    ::benchmark::DoNotOptimize(peak);
    state.PauseTiming();
    loaded.reset();
    state.ResumeTiming();
  }
  state.SetLabel(kTrainingLabel);
}

/// The whole answer: load and two steps.
void training_run(::benchmark::State& state, const std::string& model) {
  const ModelConfig config = model_named(model);
  const VirtualGpu gpu = h200();
  while (state.KeepRunning()) {
    auto reserved = dry_run(gpu, config, training()).reserved;
    ::benchmark::DoNotOptimize(reserved);
  }
  state.SetLabel(kTrainingLabel);
}

/// Load and prefill.
void inference_run(::benchmark::State& state, const std::string& model) {
  const ModelConfig config = model_named(model);
  GenerationOptions options;
  options.batch = kBatch;
  options.seq = kSeq;
  const VirtualGpu gpu = h200();
  while (state.KeepRunning()) {
    auto reserved = dry_run(gpu, config, options).reserved;
    ::benchmark::DoNotOptimize(reserved);
  }
  state.SetLabel(kInferenceLabel);
}

/// What fit asks: a whole estimate of training under PyTorch.
void pytorch_estimate(::benchmark::State& state, const std::string& model) {
  pytorch::TorchTraining options;
  options.precision = DType::Bf16;
  options.batch = kBatch;
  options.seq = kSeq;
  const Request request{model_named(model),
                        std::make_shared<pytorch::TorchWorkload>(current_pytorch(), options),
                        budget_of(card_named("h200"))};
  while (state.KeepRunning()) {
    auto total = estimate(request).total;
    ::benchmark::DoNotOptimize(total);
  }
  state.SetLabel(kTrainingLabel);
}

}  // namespace

std::vector<LatencyBenchmark> latency_benchmarks() {
  using Run = void (*)(::benchmark::State&, const std::string&);
  struct Kind {
    const char* before;
    const char* after;
    Run run;
  };
  constexpr Kind kKinds[] = {{"Estimate/training/", "", training_step},
                             {"Estimate/training/", "/steps:2", training_run},
                             {"Estimate/inference/", "", inference_run},
                             {"Estimate/pytorch/training/", "", pytorch_estimate}};
  std::vector<LatencyBenchmark> list;
  for (const char* model : {"llama2-7b", "llama2-70b"}) {
    for (const Kind& kind : kKinds) {
      list.push_back({std::string(kind.before) + model + kind.after,
                      [run = kind.run, model = std::string(model)](::benchmark::State& state) {
                        run(state, model);
                      }});
    }
  }
  return list;
}

}  // namespace vramfit::bench
