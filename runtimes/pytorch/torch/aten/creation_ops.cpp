#include "runtimes/pytorch/torch/aten/ops.h"
#include "runtimes/pytorch/torch/ops/view.h"

namespace vramfit::pytorch::aten {
namespace {

Tensor made(const Call& call, const Dims& sizes, ScalarType type) {
  if (call.context.meta) return empty_meta(call.context, sizes, type);
  return empty(call.context, sizes, type,
               is_floating(type) ? Category::Activations : Category::Inputs);
}

/// (end, dtype)
Results arange(const Call& call) {
  return {made(call, {call.integer(0)}, call.type(1).value_or(ScalarType::Long))};
}

/// (start, end, step, dtype)
Results arange_by(const Call& call) {
  const std::int64_t step = call.integer(2, 1);
  return {made(call, {(call.integer(1) - call.integer(0) + step - 1) / step},
               call.type(3).value_or(ScalarType::Long))};
}

/// (sizes, dtype)
Results sized(const Call& call) {
  return {made(call, call.dims(0), call.type(1).value_or(ScalarType::Float))};
}

/// (self, dtype)
Results like(const Call& call) {
  const Tensor a = call.tensor(0);
  return {made(call, a.sizes(), call.type(1).value_or(a.type()))};
}

/// (sizes, dtype): what torch.tensor() gives.
Results fresh(const Call& call) { return {made(call, call.dims(0), *call.type(1))}; }

/// (self, pad, mode, value): constant_pad_nd.
Results padded(const Call& call) {
  const Tensor a = call.tensor(0);
  const Dims pad = call.dims(1);
  Dims sizes = a.sizes();
  for (int i = 0; 2 * i < pad.rank(); ++i) sizes[-1 - i] += pad[2 * i] + pad[2 * i + 1];
  return {made(call, sizes, a.type())};
}

constexpr NamedOp kCreationOps[] = {
    {"arange.default", arange}, {"arange.start_step", arange_by}, {"empty.memory_format", sized},
    {"ones.default", sized},    {"zeros.default", sized},         {"empty_like.default", like},
    {"fresh", fresh},           {"pad.default", padded},
};

}  // namespace

std::span<const NamedOp> creation_ops() { return kCreationOps; }

}  // namespace vramfit::pytorch::aten
