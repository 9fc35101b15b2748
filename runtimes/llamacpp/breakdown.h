#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtimes/llamacpp/base/account.h"
#include "runtimes/llamacpp/compute_buffers.h"

namespace vramfit::llamacpp {

/// A start: what model, how it is placed, and on which GPUs.
struct StartQuestion {
  std::shared_ptr<const Model> model;
  Placement placement;
  ContextOptions options;
  std::vector<Device> devices;
  Reservation reservation = Reservation::Allocated;

  friend bool operator==(const StartQuestion&, const StartQuestion&) = default;
};

/// What a model and its context take: llama_get_memory_breakdown. Throws BadInput where llama.cpp
/// refuses.
Breakdown breakdown(const Model& model, const Placement& placement, const ContextOptions& options,
                    const std::vector<Device>& devices, Reservation reservation);

/// The same of starts that are asked about again, and of those on cards whose graphs are the same:
/// of these temporary buffers alone differ. Shared by all that ask, in parallel too.
class Breakdowns {
 public:
  Breakdown of(StartQuestion question);

 private:
  struct Answer {
    std::once_flag once;
    Breakdown taken;  ///< without pools
    std::vector<ggml::PoolOps> pool_ops;
  };

  std::shared_ptr<Answer> answer_to(const StartQuestion& question);

  std::mutex mutex_;
  std::vector<std::pair<StartQuestion, std::shared_ptr<Answer>>> known_;
};

}  // namespace vramfit::llamacpp
