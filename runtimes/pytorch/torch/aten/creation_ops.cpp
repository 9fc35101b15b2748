#include <cmath>

#include "model/errors.h"
#include "runtimes/pytorch/torch/aten/ops.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/pad.h"
#include "runtimes/pytorch/torch/ops/view.h"

namespace vramfit::pytorch::aten {
namespace {

Tensor made(const Call& call, const Dims& sizes, ScalarType type) {
  return empty(call.context, sizes, type,
               is_floating(type) ? Category::Activations : Category::Inputs);
}

/// Of a number, where no type is named.
ScalarType type_of_number(const Call& call, std::size_t i) {
  return call.is_real(i)   ? ScalarType::Float
         : call.is_flag(i) ? ScalarType::Bool
                           : ScalarType::Long;
}

/// From `start` to `end`, and the type's place.
Results range(const Call& call, double start, double end, double step, std::size_t type,
              bool is_real) {
  const auto count = static_cast<std::int64_t>(std::ceil((end - start) / step));
  const ScalarType otherwise = is_real ? ScalarType::Float : ScalarType::Long;
  return {made(call, {count}, call.type(type).value_or(otherwise))};
}

/// (end, dtype)
Results arange(const Call& call) { return range(call, 0, call.real(0), 1, 1, call.is_real(0)); }

/// (start, end, dtype)
Results arange_from(const Call& call) {
  return range(call, call.real(0), call.real(1), 1, 2, call.is_real(0) || call.is_real(1));
}

/// (start, end, step, dtype)
Results arange_by(const Call& call) {
  return range(call, call.real(0), call.real(1), call.real(2, 1), 3,
               call.is_real(0) || call.is_real(1) || call.is_real(2));
}

/// (self, dtype): in the order of memory that the tensor has.
Results like_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return {preserved(a, call.type(1).value_or(a.type()))};
}

/// (self, fill, dtype)
Results full_like(const Call& call) {
  const Tensor a = call.tensor(0);
  return {preserved(a, call.type(2).value_or(a.type()))};
}

/// (sizes, dtype)
Results sized(const Call& call) {
  return {made(call, call.dims(0), call.type(1).value_or(ScalarType::Float))};
}

/// (sizes, fill, dtype)
Results full(const Call& call) {
  return {made(call, call.dims(0), call.type(2).value_or(type_of_number(call, 1)))};
}

/// (self, sizes, dtype)
Results new_sized(const Call& call) {
  return {made(call, call.dims(1), call.type(2).value_or(call.tensor(0).type()))};
}

/// (self, sizes, fill, dtype)
Results new_full(const Call& call) {
  return {made(call, call.dims(1), call.type(3).value_or(call.tensor(0).type()))};
}

/// (n, dtype)
Results eye(const Call& call) {
  return {made(call, {call.integer(0), call.integer(0)}, call.type(1).value_or(ScalarType::Float))};
}

/// (value, dtype)
Results scalar_tensor(const Call& call) {
  return {made(call, {}, call.type(1).value_or(ScalarType::Float))};
}

/// (self, classes)
Results one_hot(const Call& call) {
  const Tensor a = call.tensor(0);
  if (call.integer(1, -1) < 0) {
    throw BadInput("one_hot without a number of classes is not predicted: it lies in the values");
  }
  Dims sizes = a.sizes();
  sizes.push_back(call.integer(1));
  return {made(call, sizes, ScalarType::Long)};
}

/// (self, pad, mode, value)
Results padded(const Call& call) {
  const std::string mode = call.text(2);
  if (!mode.empty() && mode != "constant") {
    throw BadInput("padding other than by a constant is not predicted yet");
  }
  return {constant_pad(call.tensor(0), call.integers(1))};
}

Results triangular(const Call& call) { return {triangle(call.tensor(0))}; }

/// Numbers drawn in place.
Results drawn(const Call& call) { return {call.tensor(0)}; }

constexpr NamedOp kCreationOps[] = {
    {"arange", arange},
    {"arange.start", arange_from},
    {"arange.start_step", arange_by},
    {"empty_like", like_op},
    {"zeros_like", like_op},
    {"ones_like", like_op},
    {"rand_like", like_op},
    {"full_like", full_like},
    {"zeros", sized},
    {"ones", sized},
    {"rand", sized},
    {"empty.memory_format", sized},
    {"fresh", sized},
    {"full", full},
    {"new_zeros", new_sized},
    {"new_ones", new_sized},
    {"new_empty", new_sized},
    {"new_full", new_full},
    {"eye", eye},
    {"scalar_tensor", scalar_tensor},
    {"one_hot", one_hot},
    {"pad", padded},
    {"tril", triangular},
    {"triu", triangular},
    {"uniform_", drawn},
    {"exponential_", drawn},
};

}  // namespace

std::span<const NamedOp> creation_ops() { return kCreationOps; }

}  // namespace vramfit::pytorch::aten
