#include "runtimes/pytorch/transformers/modules/rotary.h"

#include "runtimes/pytorch/torch/ops/binary.h"
#include "runtimes/pytorch/torch/ops/cat.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/linear.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/context.h"
#include "runtimes/pytorch/transformers/modules/layers.h"
#include "runtimes/pytorch/transformers/modules/locals.h"

namespace vramfit::pytorch {

namespace {

/// 1.0 / (base ** (arange(0, 2 * count, 2) / (2 * count))).
Tensor frequencies(Context& context, std::int64_t count) {
  if (context.meta) return buffer(context, {count}, ScalarType::Float);
  const auto make = [&] { return empty(context, {count}, ScalarType::Float); };
  Tensor steps = make();
  Tensor fractions = make();
  steps.reset();
  const Tensor powers = power(Tensor(), fractions);
  fractions.reset();
  const Tensor reciprocal = make();
  return buffer(context, {count}, ScalarType::Float);
}

}  // namespace

RotaryEmbedding::RotaryEmbedding(Context& context, std::int64_t dims)
    : inverse_frequencies_(frequencies(context, dims / 2)),
      original_(buffer(context, {dims / 2}, ScalarType::Float)) {}

void RotaryEmbedding::initialize() const {
  frequencies(inverse_frequencies_.context(), inverse_frequencies_.numel());
}

PositionEmbeddings RotaryEmbedding::operator()(const Tensor& positions, ScalarType type) const {
  Context& context = positions.context();
  const Setting no_grad(context.grad_enabled, false);
  const AutocastScope full(context.autocast, std::nullopt);
  const std::int64_t batch = positions.size(0);
  const Tensor frequencies =
      expand(reshape(inverse_frequencies_, {1, inverse_frequencies_.size(0), 1}),
             {batch, inverse_frequencies_.size(0), 1});
  Tensor upcast = unsqueeze(to(positions, ScalarType::Float), 1);
  Tensor angles = transpose(matmul(frequencies, upcast), 1, 2);
  Tensor twice = cat(angles, angles, 2);
  Tensor cos = pointwise_no_grad(twice, ScalarType::Float);
  cos = mul_scalar(cos);
  Tensor sin = pointwise_no_grad(twice, ScalarType::Float);
  sin = mul_scalar(sin);
  PositionEmbeddings result = {to(cos, type), to(sin, type)};
  drop({&upcast, &angles, &twice, &cos, &sin});
  return result;
}

namespace {

// rotate_half: two views, one of them negated, side by side.
Tensor rotate_half(const Tensor& x) {
  const std::int64_t half = x.size(-1) / 2;
  const Tensor first = slice(x, -1, half);
  const Tensor second = slice(x, -1, x.size(-1) - half);
  const Tensor negated = neg(second);
  return cat(negated, first, -1);
}

}  // namespace

Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const Tensor straight = mul(x, cos);
  Tensor turned = rotate_half(x);
  turned = mul(turned, sin);
  return add(straight, turned);
}

void apply_rotary(Tensor& query, Tensor& key, const PositionEmbeddings& embeddings) {
  const Tensor cos = unsqueeze(embeddings.cos, 1);
  const Tensor sin = unsqueeze(embeddings.sin, 1);
  Tensor rotated_query = rotate(query, cos, sin);
  Tensor rotated_key = rotate(key, cos, sin);
  query = std::move(rotated_query);
  key = std::move(rotated_key);
}

}  // namespace vramfit::pytorch
