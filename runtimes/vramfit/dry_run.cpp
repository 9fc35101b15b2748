#include "runtimes/vramfit/dry_run.h"

#include <optional>

#include "runtimes/vramfit/step_tape.h"
#include "runtimes/vramfit/virtual_memory.h"

namespace vramfit {

RunReport dry_run(const VirtualGpu& gpu, const ModelConfig& config, const TrainingOptions& options,
                  int steps, bool events, const StopCondition& stop_when) {
  VirtualMemory memory(gpu.pool_capacity, events);
  VirtualDevice device(gpu.arch);
  return run_training(device, memory.ledger(), config, options, [&](const auto& walk) {
    std::optional<StepTape> first;
    for (int step = 1; step <= steps; ++step) {
      if (events) {
        walk();
      } else if (first) {
        first->play(step);
      } else {
        first.emplace(memory.ledger(), walk);
      }
      if (stop_when && stop_when(memory.ledger())) return;
    }
  });
}

RunReport dry_run(const VirtualGpu& gpu, const ModelConfig& config,
                  const GenerationOptions& options, std::int64_t max_decodes, bool events) {
  VirtualMemory memory(gpu.pool_capacity, events);
  VirtualDevice device(gpu.arch);
  return run_generation(device, memory.ledger(), config, options, max_decodes);
}

}  // namespace vramfit
