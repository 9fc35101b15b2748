#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/pytorch/modules/causal_lm.h"

namespace vramfit::pytorch {

/// Where from_pretrained puts the modules of a model.
struct DeviceMap {
  std::vector<bool> on_gpu;      ///< of named_modules(), one each
  double gpu_bytes = 0;          ///< what the loader counts for the GPU
  std::int64_t host_layers = 0;  ///< blocks that stay on the host
  std::uint64_t host_bytes = 0;

  bool spills() const { return host_layers > 0 || host_bytes > 0; }
};

/// A named module with what the loader counts for it: half a byte an element of 4 bits.
struct SizedModule {
  const CausalLm::NamedModule* module;
  double bytes;
};

/// device_map="cuda": all of it on the GPU.
DeviceMap all_on_gpu(const std::vector<SizedModule>& modules);

/// device_map="auto" within `budget` bytes of the GPU: infer_auto_device_map of
/// transformers/integrations/accelerate.py, 5.17. Modules are placed in order, as long as the
/// largest of those left would fit beside them; from the first that does not, all stay on the host.
DeviceMap infer_auto_device_map(const std::vector<SizedModule>& modules, double budget);

}  // namespace vramfit::pytorch
