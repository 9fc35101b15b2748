#include "runtimes/vramfit/dry_run.h"

#include "runtimes/pytorch/torch/memory/playback.h"
#include "runtimes/vramfit/step_tape.h"
#include "runtimes/vramfit/virtual_memory.h"

namespace vramfit {
namespace {

RunReport walked(const VirtualGpu& gpu, const ModelConfig& config, const TrainingOptions& options,
                 int steps, bool events, const StopCondition& stop_when) {
  VirtualMemory memory(gpu.pool_capacity, events);
  VirtualDevice device(gpu.arch);
  return run_training(device, memory.ledger(), config, options, [&](const auto& walk) {
    for (int step = 1; step <= steps; ++step) {
      walk();
      if (stop_when && stop_when(memory.ledger())) return;
    }
  });
}

/// Has room for all, at no place.
class Numbers final : public Allocator {
 public:
  Block allocate(std::uint64_t bytes, Placement) override { return {0, bytes, nullptr, next_++}; }
  void free(const Block&) noexcept override {}
  std::uint64_t reserved() const override { return 0; }

 private:
  std::uint32_t next_ = 0;
};

/// By a tape: of few layers, or where all are walked of the first step. Throws LayersDiffer.
RunReport played(const VirtualGpu& gpu, const ModelConfig& config, const TrainingOptions& options,
                 int steps, const StopCondition& stop_when) {
  const pytorch::Fold fold = StepTape::fold_of(config, options);
  const ModelConfig few = fold.walked(config);
  VirtualMemory memory(gpu.pool_capacity, false);
  Numbers numbers;
  Ledger of_few(numbers, Counts::Requested, false);
  Ledger& asked = fold.folds() ? of_few : memory.ledger();
  return report_on(memory.ledger(), [&] {
    VirtualDevice device(gpu.arch);
    StepTape tape(asked, fold, few, options);
    Trainer trainer(device, asked, few, options);
    pytorch::Playback playback(memory.ledger(), fold);
    const pytorch::Playback::Part loading = playback.ready(tape.take());
    if (fold.folds()) playback.play(loading, 0);
    trainer.step([](Device&, Tensor&, Tensor&) {});
    asked.set_observer(nullptr);  // what is played is not written down again
    const pytorch::Playback::Part part = playback.ready(tape.take());
    for (int step = 1; step <= steps; ++step) {
      if (step > 1 || fold.folds()) playback.play(part, step);
      if (stop_when && stop_when(memory.ledger())) return;
    }
  });
}

}  // namespace

RunReport dry_run(const VirtualGpu& gpu, const ModelConfig& config, const TrainingOptions& options,
                  int steps, bool events, const StopCondition& stop_when) {
  if (events) return walked(gpu, config, options, steps, events, stop_when);
  try {
    return played(gpu, config, options, steps, stop_when);
  } catch (const pytorch::LayersDiffer&) {
    return walked(gpu, config, options, steps, events, stop_when);
  }
}

RunReport dry_run(const VirtualGpu& gpu, const ModelConfig& config,
                  const GenerationOptions& options, std::int64_t max_decodes, bool events) {
  VirtualMemory memory(gpu.pool_capacity, events);
  VirtualDevice device(gpu.arch);
  return run_generation(device, memory.ledger(), config, options, max_decodes);
}

}  // namespace vramfit
