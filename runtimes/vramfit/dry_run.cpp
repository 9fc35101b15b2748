#include "runtimes/vramfit/dry_run.h"

#include <optional>

#include "model/memory/host_memory.h"
#include "runtimes/vramfit/step_tape.h"

namespace vramfit {
namespace {

template <typename Run>
RunReport on_virtual_gpu(const VirtualGpu& gpu, bool events, const Run& run) {
  VirtualSource source(gpu.pool_capacity);
  Pool pool(source);
  Ledger ledger(pool, Counts::Requested, events);
  VirtualSource host_source;
  const HostMemory host(host_source, ledger, events);
  VirtualDevice device(gpu.arch);
  return run(device, ledger);
}

}  // namespace

RunReport dry_run(const VirtualGpu& gpu, const ModelConfig& config, const TrainingOptions& options,
                  int steps, bool events, const EnoughSteps& enough) {
  return on_virtual_gpu(gpu, events, [&](Device& device, Ledger& ledger) {
    return run_training(device, ledger, config, options, [&](const auto& walk) {
      std::optional<StepTape> first;
      for (int step = 1; step <= steps; ++step) {
        if (events) {
          walk();
        } else if (first) {
          first->play(step);
        } else {
          first.emplace(ledger, walk);
        }
        if (enough && enough(ledger)) return;
      }
    });
  });
}

RunReport dry_run(const VirtualGpu& gpu, const ModelConfig& config,
                  const GenerationOptions& options, std::int64_t max_decodes, bool events) {
  return on_virtual_gpu(gpu, events, [&](Device& device, Ledger& ledger) {
    return run_generation(device, ledger, config, options, max_decodes);
  });
}

}  // namespace vramfit
