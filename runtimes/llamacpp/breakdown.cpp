#include "runtimes/llamacpp/breakdown.h"

namespace vramfit::llamacpp {

Breakdown breakdown(const Model& model, const Placement& placement, const ContextOptions& options,
                    const std::vector<Device>& devices, Reservation reservation) {
  std::vector<std::uint64_t> free;
  for (const Device& device : devices) free.push_back(device.free);
  const WeightPlaces places = place_weights(model, placement, free);
  const ComputeBuffers context =
      compute_buffers(model, placement, places, options, devices, reservation);
  Breakdown breakdown;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const MemoryBytes& caches = context.caches[i];
    breakdown.gpus.push_back({places.bytes.gpus[i], caches.all, context.gpus[i], caches.states});
  }
  breakdown.pools = context.pools;
  breakdown.host = {places.bytes.host, context.host_caches.all, 0, context.host_caches.states};
  breakdown.pinned = {places.bytes.pinned, 0, context.host, 0};
  breakdown.flash = context.flash;
  return breakdown;
}

}  // namespace vramfit::llamacpp
