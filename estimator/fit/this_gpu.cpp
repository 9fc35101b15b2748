#include "estimator/fit/this_gpu.h"

#include <algorithm>
#include <string>

#include "estimator/machine/nvml.h"

namespace vramfit::fit {

std::optional<Budget> this_gpu() {
  const std::optional<Nvml> nvml = Nvml::load();
  if (!nvml) return std::nullopt;
  const std::optional<MachineGpu> gpu = nvml->gpu(0);
  if (!gpu) return std::nullopt;

  Budget budget = budget_of_gpu(gpu->name, gpu->arch, gpu->vram);
  const unsigned count = nvml->gpu_count();
  std::string note = count > 1 ? "the first of this machine's " + std::to_string(count) + " GPUs"
                               : "this machine's GPU";
  if (const std::string driver = nvml->driver_version(); !driver.empty()) {
    note += ", driver " + driver;
  }
  budget.notes.push_back(note);
  budget.held = std::min(gpu->used, gpu->vram);
  return budget;
}

}  // namespace vramfit::fit
