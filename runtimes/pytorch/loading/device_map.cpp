#include "runtimes/pytorch/loading/device_map.h"

#include <algorithm>

namespace vramfit::pytorch {
namespace {

/// What is not split: a block, or a module outside of blocks.
struct Unit {
  std::size_t first;  ///< of the sized modules
  std::size_t count;
  double bytes;
};

std::vector<Unit> units_of(const std::vector<SizedModule>& modules) {
  std::vector<Unit> units;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const auto& layer = modules[i].module->layer;
    const bool goes_on = layer && i > 0 && modules[i - 1].module->layer == layer;
    if (!goes_on) units.push_back({i, 0, 0});
    ++units.back().count;
    units.back().bytes += modules[i].bytes;
  }
  return units;
}

/// get_max_layer_size, of those from `first` on.
class LargestLeft {
 public:
  explicit LargestLeft(const std::vector<Unit>& units) : units_(units) { look_from(0); }

  double bytes() const { return bytes_; }
  /// Once all of that size have been taken, it is the largest of the others.
  void take(std::size_t unit) {
    if (units_[unit].bytes == bytes_ && --left_ == 0) look_from(unit + 1);
  }

 private:
  void look_from(std::size_t first) {
    bytes_ = 0;
    left_ = 0;
    for (std::size_t i = first; i < units_.size(); ++i) {
      if (units_[i].bytes > bytes_) {
        bytes_ = units_[i].bytes;
        left_ = 0;
      }
      if (units_[i].bytes == bytes_) ++left_;
    }
  }

  const std::vector<Unit>& units_;
  double bytes_ = 0;
  int left_ = 0;
};

DeviceMap place(const std::vector<SizedModule>& modules, const std::vector<Unit>& units,
                std::size_t on_gpu) {
  DeviceMap map;
  map.on_gpu.assign(modules.size(), false);
  for (std::size_t u = 0; u < units.size(); ++u) {
    const Unit& unit = units[u];
    // A head tied to the embedding counts nothing, and goes where that is.
    const bool gpu = u < on_gpu || (unit.bytes == 0 && on_gpu > 0);
    std::fill_n(map.on_gpu.begin() + static_cast<std::ptrdiff_t>(unit.first), unit.count, gpu);
    if (gpu) {
      map.gpu_bytes += unit.bytes;
      continue;
    }
    map.host_bytes += static_cast<std::uint64_t>(unit.bytes);
    if (modules[unit.first].module->layer) ++map.host_layers;
  }
  return map;
}

}  // namespace

DeviceMap all_on_gpu(const std::vector<SizedModule>& modules) {
  const std::vector<Unit> units = units_of(modules);
  return place(modules, units, units.size());
}

DeviceMap infer_auto_device_map(const std::vector<SizedModule>& modules, double budget) {
  const std::vector<Unit> units = units_of(modules);
  // All is tried at once, then unit by unit.
  double whole = 0;
  for (const Unit& unit : units) whole += unit.bytes;
  if (whole <= budget) return place(modules, units, units.size());
  LargestLeft largest(units);
  double used = 0;
  std::size_t placed = 0;
  for (; placed < units.size(); ++placed) {
    largest.take(placed);
    if (used + units[placed].bytes > budget - largest.bytes()) break;
    used += units[placed].bytes;
  }
  return place(modules, units, placed);
}

}  // namespace vramfit::pytorch
