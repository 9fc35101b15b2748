#include "runtimes/vramfit/dry_run.h"

#include "model/memory/pool.h"

namespace vramfit {
namespace {

template <typename Run>
RunReport on_virtual_gpu(const VirtualGpu& gpu, const Run& run) {
  VirtualSource source(gpu.pool_capacity);
  Pool pool(source);
  Ledger ledger(pool);
  VirtualDevice device(gpu.arch);
  return run(device, ledger);
}

}  // namespace

RunReport dry_run(const VirtualGpu& gpu, const ModelConfig& config, const TrainingOptions& options,
                  int steps) {
  return on_virtual_gpu(gpu, [&](Device& device, Ledger& ledger) {
    return run_training(device, ledger, config, options, steps);
  });
}

RunReport dry_run(const VirtualGpu& gpu, const ModelConfig& config,
                  const GenerationOptions& options, std::int64_t max_decodes) {
  return on_virtual_gpu(gpu, [&](Device& device, Ledger& ledger) {
    return run_generation(device, ledger, config, options, max_decodes);
  });
}

}  // namespace vramfit
