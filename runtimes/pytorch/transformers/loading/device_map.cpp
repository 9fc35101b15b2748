#include "runtimes/pytorch/transformers/loading/device_map.h"

#include <algorithm>
#include <cmath>

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

/// `gpu`: of each unit.
DeviceMap place(const std::vector<SizedModule>& modules, const std::vector<Unit>& units,
                const std::vector<int>& gpu, std::size_t gpus) {
  DeviceMap map;
  map.gpu.assign(modules.size(), kHost);
  for (const SizedModule& sized : modules) {
    const std::optional<std::int64_t> layer = sized.module->layer;
    map.layer.push_back(layer);
    if (layer && (map.numbers.empty() || map.numbers.back() != *layer)) {
      map.numbers.push_back(*layer);
    }
  }
  map.gpu_bytes.assign(gpus, 0);
  for (std::size_t u = 0; u < units.size(); ++u) {
    const Unit& unit = units[u];
    // A head tied to the embedding counts nothing, and goes where that is.
    const int at = unit.bytes == 0 ? gpu.front() : gpu[u];
    std::fill_n(map.gpu.begin() + static_cast<std::ptrdiff_t>(unit.first), unit.count, at);
    if (at != kHost) {
      map.gpu_bytes[static_cast<std::size_t>(at)] += unit.bytes;
      continue;
    }
    map.host_bytes += static_cast<std::uint64_t>(unit.bytes);
    if (modules[unit.first].module->layer) ++map.host_layers;
  }
  return map;
}

DeviceMap place_all(const std::vector<SizedModule>& modules, const std::vector<Unit>& units,
                    std::size_t gpus) {
  return place(modules, units, std::vector<int>(units.size(), 0), gpus);
}

double bytes_of(const std::vector<Unit>& units) {
  double whole = 0;
  for (const Unit& unit : units) whole += unit.bytes;
  return whole;
}

}  // namespace

DeviceMap without_layers(const DeviceMap& map, std::int64_t first, std::int64_t count) {
  DeviceMap rest = map;
  rest.gpu.clear();
  rest.layer.clear();
  for (std::size_t i = 0; i < map.gpu.size(); ++i) {
    const std::optional<std::int64_t> layer = map.layer[i];
    const bool behind = layer && *layer >= first + count;
    if (layer && *layer >= first && !behind) continue;
    rest.gpu.push_back(map.gpu[i]);
    rest.layer.push_back(behind ? *layer - count : layer);
  }
  const auto begin = rest.numbers.begin() + static_cast<std::ptrdiff_t>(first);
  rest.numbers.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
  return rest;
}

DeviceMap all_on_gpu(const std::vector<SizedModule>& modules) {
  return place_all(modules, units_of(modules), 1);
}

std::vector<double> balanced_memory(const std::vector<SizedModule>& modules, int gpus,
                                    double free) {
  constexpr double kShareOfOne = 0.9;
  if (gpus == 1) return {kShareOfOne * free};
  double block = 0;
  const std::vector<Unit> units = units_of(modules);
  for (const Unit& unit : units) {
    if (modules[unit.first].module->layer) block = std::max(block, unit.bytes);
  }
  constexpr double kBlocksOfRoom = 1.25;
  const double even = std::floor(bytes_of(units) / gpus) + std::floor(kBlocksOfRoom * block);
  std::vector<double> budgets(static_cast<std::size_t>(gpus), std::min(even, free));
  budgets.back() = free;
  return budgets;
}

DeviceMap infer_auto_device_map(const std::vector<SizedModule>& modules,
                                const std::vector<double>& budgets) {
  const std::vector<Unit> units = units_of(modules);
  // All is tried at once, then unit by unit.
  if (bytes_of(units) <= budgets.front()) return place_all(modules, units, budgets.size());
  LargestLeft largest(units);
  std::vector<int> gpu(units.size(), kHost);
  std::size_t at = 0;
  double used = 0;
  for (std::size_t u = 0; u < units.size() && at < budgets.size(); ++u) {
    largest.take(u);
    const auto room = [&] { return budgets[at] - (at == 0 ? largest.bytes() : 0) - used; };
    while (units[u].bytes > room()) {
      used = 0;
      if (++at == budgets.size()) break;
    }
    if (at == budgets.size()) break;
    used += units[u].bytes;
    gpu[u] = static_cast<int>(at);
  }
  return place(modules, units, gpu, budgets.size());
}

}  // namespace vramfit::pytorch
