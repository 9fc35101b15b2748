#include "runtimes/pytorch/torch/tensor/checkpoint.h"

#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {

int CheckpointFrame::save(const Tensor& tensor) {
  if (!recomputing) {
    slots.emplace_back();
    return static_cast<int>(slots.size()) - 1;
  }
  if (recomputed >= slots.size()) return -1;
  Slot& slot = slots[recomputed++];
  if (slot.wanted) slot.tensor = tensor.detach();
  if (recomputed == slots.size()) throw StopRecomputation{};
  return -1;
}

void CheckpointFrame::recompute() {
  if (done) return;
  done = true;
  const Setting grad(context.grad_enabled, true);
  const Setting frame(context.checkpoint, Ref<CheckpointFrame>(this));
  const Setting now(recomputing, true);
  try {
    function();
  } catch (const StopRecomputation&) {
    return;  // all that was saved is there again
  }
}

Tensor checkpoint(Context& context, const std::function<Tensor(const Tensor&)>& function,
                  const Tensor& input) {
  Ref<CheckpointFrame> frame(new CheckpointFrame(context));
  // The recomputation has autocast as it is now (_get_autocast_kwargs) and a cache of casts of its
  // own, since no other scope is open around it.
  frame->function = [&context, function, input, enabled = context.autocast.state()] {
    const AutocastScope autocast(context.autocast, enabled);
    function(input);
  };
  const Setting current(context.checkpoint, frame);
  return function(input);
}

}  // namespace vramfit::pytorch
