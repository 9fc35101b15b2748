#include "runtimes/llamacpp/breakdown.h"

#include <algorithm>

#include "runtimes/llamacpp/ggml/flash_attention.h"

namespace vramfit::llamacpp {
namespace {

/// So many starts are kept: a search over all cards asks about fewer.
constexpr std::size_t kMostKept = 512;

Breakdown without_pools(const StartQuestion& question, const Model& model,
                        std::vector<ggml::PoolOps>& pool_ops) {
  std::vector<std::uint64_t> free;
  for (const Device& device : question.devices) free.push_back(device.free);
  const WeightPlaces places = place_weights(model, question.placement, free);
  ComputeBuffers context = compute_buffers(model, question.placement, places, question.options,
                                           question.devices, question.reservation);
  Breakdown breakdown;
  for (std::size_t i = 0; i < question.devices.size(); ++i) {
    const MemoryBytes& caches = context.caches[i];
    breakdown.gpus.push_back({places.bytes.gpus[i], caches.all, context.gpus[i], caches.states});
  }
  breakdown.host = {places.bytes.host, context.host_caches.all, 0, context.host_caches.states};
  breakdown.pinned = {places.bytes.pinned, 0, context.host, 0};
  breakdown.flash = context.flash;
  pool_ops = std::move(context.pool_ops);
  return breakdown;
}

void add_pools(const std::vector<ggml::PoolOps>& ops, const std::vector<Device>& devices,
               Breakdown& breakdown) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    breakdown.pools.push_back(pool_of(ops[i], devices[i]));
  }
}

/// The same for all devices on which all but pools is the same: what one has free matters to none,
/// as it shares nothing out.
std::vector<Device> any_such(std::vector<Device> devices) {
  for (Device& device : devices) {
    if (devices.size() == 1) device.free = 0;
    device.capability = ggml::same_attention_since(device.capability);
    device.multiprocessors = 0;
  }
  return devices;
}

}  // namespace

Breakdown breakdown(const Model& model, const Placement& placement, const ContextOptions& options,
                    const std::vector<Device>& devices, Reservation reservation) {
  std::vector<ggml::PoolOps> ops;
  Breakdown taken = without_pools({nullptr, placement, options, devices, reservation}, model, ops);
  add_pools(ops, devices, taken);
  return taken;
}

Breakdown Breakdowns::of(StartQuestion question) {
  const std::vector<Device> devices = question.devices;
  question.devices = any_such(devices);
  const std::shared_ptr<Answer> answer = answer_to(question);
  std::call_once(answer->once, [&] {
    answer->taken = without_pools(question, *question.model, answer->pool_ops);
  });
  Breakdown taken = answer->taken;
  add_pools(answer->pool_ops, devices, taken);
  return taken;
}

std::shared_ptr<Breakdowns::Answer> Breakdowns::answer_to(const StartQuestion& question) {
  const std::lock_guard lock(mutex_);
  // Whoever asks again does so soon.
  const auto found = std::find_if(known_.rbegin(), known_.rend(),
                                  [&](const auto& known) { return known.first == question; });
  if (found != known_.rend()) return found->second;
  if (known_.size() >= kMostKept) known_.clear();
  return known_.emplace_back(question, std::make_shared<Answer>()).second;
}

}  // namespace vramfit::llamacpp
