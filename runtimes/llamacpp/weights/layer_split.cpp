#include "runtimes/llamacpp/weights/layer_split.h"

#include <algorithm>
#include <cmath>

#include "model/errors.h"

namespace vramfit::llamacpp {
namespace {

/// Up to which part of the layers each device goes. In floats, as llama.cpp counts.
std::vector<float> split_points(const Placement& placement, const std::vector<int>& devices,
                                const std::vector<std::uint64_t>& free) {
  std::vector<float> shares(devices.size(), 0.0F);
  for (std::size_t i = 0; i < std::min(shares.size(), placement.tensor_split.size()); ++i) {
    shares[i] = static_cast<float>(placement.tensor_split[i]);
  }
  if (std::all_of(shares.begin(), shares.end(), [](float share) { return share == 0.0F; })) {
    for (std::size_t i = 0; i < shares.size(); ++i) {
      shares[i] = static_cast<float>(free[static_cast<std::size_t>(devices[i])]);
    }
  }
  float sum = 0;
  for (float& share : shares) {
    sum += share;
    share = sum;
  }
  for (float& share : shares) share /= sum;
  return shares;
}

}  // namespace

std::vector<int> devices_of(const Placement& placement, std::size_t gpus) {
  if (placement.split == SplitMode::Row) {
    throw BadInput("split-mode: row, which llama.cpp's CUDA has no buffers for; layer or none");
  }
  if (placement.tensor_split.size() > gpus) {
    throw BadInput("tensor-split: " + std::to_string(placement.tensor_split.size()) +
                   " shares; at most one for each of " + std::to_string(gpus) + " GPUs");
  }
  for (const double share : placement.tensor_split) {
    if (!(share >= 0) || !std::isfinite(share)) {
      throw BadInput("tensor-split: a share below 0; 0 or more for each GPU");
    }
  }
  if (placement.split == SplitMode::None) {
    if (placement.main_gpu < 0 || static_cast<std::size_t>(placement.main_gpu) >= gpus) {
      throw BadInput("main-gpu: " + std::to_string(placement.main_gpu) + "; 0 to " +
                     std::to_string(gpus - 1));
    }
    return {placement.main_gpu};
  }
  std::vector<int> devices;
  for (std::size_t i = 0; i < gpus; ++i) devices.push_back(static_cast<int>(i));
  return devices;
}

std::vector<Place> split_layers(std::int64_t layers, const Placement& placement,
                                const std::vector<std::uint64_t>& free) {
  const std::vector<int> devices = devices_of(placement, free.size());
  const std::int64_t all = layers + 1;
  const std::int64_t asked = placement.gpu_layers >= 0 ? placement.gpu_layers : all;
  const std::int64_t on_gpus = devices.empty() ? 0 : std::min(asked, all);
  const std::int64_t first = all - on_gpus;
  const std::vector<float> points = split_points(placement, devices, free);
  std::vector<Place> places;
  for (std::int64_t i = 0; i < all; ++i) {
    if (i < first) {
      places.push_back({Place::Kind::Host, 0});
      continue;
    }
    const float part = static_cast<float>(i - first) / static_cast<float>(on_gpus);
    // Rounding may leave the last point below 1; the last device takes what is behind.
    const auto device = std::min<std::ptrdiff_t>(
        std::upper_bound(points.begin(), points.end(), part) - points.begin(),
        static_cast<std::ptrdiff_t>(devices.size()) - 1);
    places.push_back({Place::Kind::Gpu, devices[static_cast<std::size_t>(device)]});
  }
  return places;
}

}  // namespace vramfit::llamacpp
