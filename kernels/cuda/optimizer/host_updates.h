#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/cuda/base/stream.h"
#include "kernels/host/adamw_update.h"
#include "kernels/host/threads.h"
#include "model/ops/host_slots.h"
#include "model/ops/optimizer_ops.h"

namespace vramfit {

/// Takes optimizer steps of states that are in the host's memory, a slot of elements after the
/// other: weights and gradients come down on a stream of their own, the host updates them in order
/// on another, weights go up on a third. Events say when, so that three slots are under way at a
/// time and nobody waits for all of it but what comes next on the caller's stream.
class HostUpdates {
 public:
  HostUpdates() = default;
  HostUpdates(const HostUpdates&) = delete;
  HostUpdates& operator=(const HostUpdates&) = delete;

  /// Of AdamW. Where there is a scaler, its overflow is known to `stream` by then. Waits for the
  /// last step, but not for this one.
  void launch(const OptimizerStep& op, cudaStream_t stream);

 private:
  /// Neighbouring elements of a parameter, on the card and in the slot, and their states.
  struct Piece {
    std::byte* weights;
    const std::byte* gradients;
    HostElements in_slot;
  };
  /// A slotful. Lives until the host has updated it.
  struct Slotful {
    HostUpdates* owner;
    std::int64_t slot;
    std::vector<Piece> pieces;
  };
  /// What happens to a slot, and when it last did.
  struct Events {
    Moment down;
    Moment updated;
    Moment up;
  };

  void plan(const OptimizerStep& op, const HostSlots& slots);
  void send_down(const Slotful& slotful, bool first_of_slot);
  void send_up(const Slotful& slotful);
  /// On the driver's thread: what the host does with a slotful.
  static void CUDART_CB update(void* slotful) noexcept;

  Threads threads_;
  std::array<Events, HostSlots::kCount> of_slots_;
  Moment begun_;
  Moment ended_;
  // Of the step that is under way.
  std::vector<Slotful> slotfuls_;
  HostStep step_{{}, 1};
  Format format_ = DType::Fp32;
  const float* scaler_ = nullptr;  ///< LossScale on the host; null without one
  // Last, and so the first to go: they end when nothing of the above is used any more.
  Stream down_;
  Stream host_;
  Stream up_;
};

}  // namespace vramfit
