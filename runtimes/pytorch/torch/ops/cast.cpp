#include "runtimes/pytorch/torch/ops/cast.h"

#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {

Tensor lower(const Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  Autocast& autocast = tensor.context().autocast;
  const Autocast::State& state = autocast.state();
  if (!state || !is_floating(tensor.type()) || tensor.type() == *state) return tensor;
  if (!Autocast::keeps_cast_of(tensor)) return to(tensor, *state);
  if (const Tensor* kept = autocast.cast_of(tensor)) return *kept;
  Tensor cast = to(tensor, *state);
  autocast.keep(tensor, cast);
  return cast;
}

Tensor upper(const Tensor& tensor) {
  if (!tensor.defined() || !tensor.context().autocast.enabled() || !is_half(tensor.type())) {
    return tensor;
  }
  return to(tensor, ScalarType::Float);
}

}  // namespace vramfit::pytorch
