#include "kernels/cuda/optimizer/host_updates.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/cuda/base/error.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

/// What a thread takes of a piece at a time: enough to make up for asking for it.
constexpr std::int64_t kShare = std::int64_t{1} << 15;

/// What is given to `later` from now on waits for what was given to `earlier` so far.
void order(cudaStream_t earlier, Moment& moment, cudaStream_t later) {
  moment.note(earlier);
  moment.hold(later);
}

void copy(void* to, const void* from, std::uint64_t bytes, cudaMemcpyKind kind,
          cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, bytes, kind, stream), "optimizer: copies to and from the host");
}

void expect(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

}  // namespace

void HostUpdates::launch(const OptimizerStep& op, cudaStream_t stream) {
  expect(op.kind.rule == OptimizerKind::Rule::AdamW && !op.kind.master &&
             op.kind.stored == OptimizerKind::Stored::AsSums,
         "optimizer: the host updates AdamW's m and v in fp32");
  expect(op.slots != nullptr && op.slots->bytes() >= host_slots_bytes(op.kind, op.updates),
         "optimizer: the host's slots are not there, or too small");
  ended_.wait();  // slotfuls_ are the last step's
  const HostSlots slots = host_slots(op.updates);
  plan(op, slots);
  step_ = HostStep(op.settings, op.step);
  format_ = slots.format;
  scaler_ = nullptr;

  order(stream, begun_, down_);
  if (op.scaler != nullptr) {
    auto* const scaler = op.slots->as<std::byte>() + slots.scaler();
    copy(scaler, op.scaler->data(), LossScale::kValues * sizeof(float), cudaMemcpyDeviceToHost,
         down_);
    scaler_ = reinterpret_cast<const float*>(scaler);
  }
  for (std::size_t i = 0; i < slotfuls_.size(); ++i) {
    Slotful& slotful = slotfuls_[i];
    Events& events = of_slots_[static_cast<std::size_t>(slotful.slot)];
    send_down(slotful, i < HostSlots::kCount);
    order(down_, events.down, host_);
    check(cudaLaunchHostFunc(host_, update, &slotful), "cudaLaunchHostFunc");
    order(host_, events.updated, up_);
    send_up(slotful);
    events.up.note(up_);
  }
  order(up_, ended_, stream);
}

void HostUpdates::plan(const OptimizerStep& op, const HostSlots& slots) {
  slotfuls_.clear();
  auto* const room = op.slots->as<std::byte>();
  std::int64_t used = slots.elements;  // of the last slotful; there is none
  for (const ParameterUpdate& u : op.updates) {
    expect(u.momentum != nullptr && u.variance != nullptr,
           "an update has other states than its optimizer keeps");
    const std::int64_t count = u.parameter->stored().elements();
    for (std::int64_t first = 0; first < count;) {
      if (used == slots.elements) {
        const auto number = static_cast<std::int64_t>(slotfuls_.size());
        slotfuls_.push_back({this, number % HostSlots::kCount, {}});
        used = 0;
      }
      Slotful& slotful = slotfuls_.back();
      const std::int64_t taken = std::min(count - first, slots.elements - used);
      const std::uint64_t from = slots.format.bytes(first);
      const std::uint64_t to = slots.format.bytes(used);
      slotful.pieces.push_back(
          {u.parameter->as<std::byte>() + from,
           u.gradient->as<std::byte>() + from,
           {room + slots.weights(slotful.slot) + to, room + slots.gradients(slotful.slot) + to,
            u.momentum->as<float>() + first, u.variance->as<float>() + first, taken, u.decays}});
      first += taken;
      used += taken;
    }
  }
}

void HostUpdates::send_down(const Slotful& slotful, bool first_of_slot) {
  const Events& events = of_slots_[static_cast<std::size_t>(slotful.slot)];
  if (!first_of_slot) events.up.hold(down_);
  for (const Piece& piece : slotful.pieces) {
    const std::uint64_t bytes = format_.bytes(piece.in_slot.count);
    copy(piece.in_slot.weights, piece.weights, bytes, cudaMemcpyDeviceToHost, down_);
    copy(const_cast<void*>(piece.in_slot.gradients), piece.gradients, bytes, cudaMemcpyDeviceToHost,
         down_);
  }
}

void HostUpdates::send_up(const Slotful& slotful) {
  for (const Piece& piece : slotful.pieces) {
    copy(piece.weights, piece.in_slot.weights, format_.bytes(piece.in_slot.count),
         cudaMemcpyHostToDevice, up_);
  }
}

void CUDART_CB HostUpdates::update(void* slotful) noexcept {
  const Slotful& own = *static_cast<const Slotful*>(slotful);
  HostStep step = own.owner->step_;
  if (const float* scaler = own.owner->scaler_) {
    step.inverse_scale = 1.0F / scaler[LossScale::kScale];
    step.skips = scaler[LossScale::kOverflow] != 0;
  }
  const Format format = own.owner->format_;
  for (const Piece& piece : own.pieces) {
    const std::int64_t count = piece.in_slot.count;
    own.owner->threads_.for_each((count + kShare - 1) / kShare, [&](std::int64_t share) {
      const std::int64_t first = share * kShare;
      adamw_on_host(step, format,
                    piece.in_slot.part(format, first, std::min(kShare, count - first)));
    });
  }
}

}  // namespace vramfit
