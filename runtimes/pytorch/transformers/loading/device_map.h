#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtimes/pytorch/transformers/modules/causal_lm.h"

namespace vramfit::pytorch {

/// In place of a GPU's number: a module stays on the host.
inline constexpr int kHost = -1;

/// Where from_pretrained puts the modules of a model.
struct DeviceMap {
  std::vector<int> gpu;  ///< of named_modules(), one each: its number, or kHost
  std::vector<std::optional<std::int64_t>> layer;  ///< that each of them is in
  std::vector<std::int64_t> numbers;  ///< of its layers, in the model as it is published
  std::vector<double> gpu_bytes;      ///< what the loader counts for each
  std::int64_t host_layers = 0;       ///< blocks that stay on the host
  std::uint64_t host_bytes = 0;

  bool spills() const { return host_layers > 0 || host_bytes > 0; }
  /// model.device, which runs what stays on the host: the first that holds anything, which is the
  /// embedding; kHost where none does. main_device of accelerate's dispatch_model.
  int main_gpu() const { return gpu.front(); }
  /// Which GPU runs a module.
  int runs_on(std::size_t module) const { return gpu[module] == kHost ? main_gpu() : gpu[module]; }
};

/// The same of a model without `count` layers from `first` on.
DeviceMap without_layers(const DeviceMap& map, std::int64_t first, std::int64_t count);

/// A named module with what the loader counts for it: half a byte an element of 4 bits.
struct SizedModule {
  const CausalLm::NamedModule* module;
  double bytes;
};

/// device_map="cuda": all of it on one GPU.
DeviceMap all_on_gpu(const std::vector<SizedModule>& modules);

/// What of each GPU's `free` bytes device_map="auto" gives to the model: nine tenths of one; of
/// several but the last, as much as makes them even, with room for a block and a quarter:
/// get_balanced_memory of transformers/integrations/accelerate.py, 5.17. The mean of a model's
/// leaves, which would count if it were more than a block, never is.
std::vector<double> balanced_memory(const std::vector<SizedModule>& modules, int gpus, double free);

/// device_map="auto" within `budgets`, the bytes of each GPU: infer_auto_device_map, ibidem.
/// Modules are placed in order, one GPU after the other, on the first as long as the largest of
/// those left would fit beside them; from the first that fits on none, all stay on the host.
DeviceMap infer_auto_device_map(const std::vector<SizedModule>& modules,
                                const std::vector<double>& budgets);

}  // namespace vramfit::pytorch
