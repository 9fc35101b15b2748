#include "runtimes/pytorch/transformers/modules/masks.h"

#include <utility>

#include "runtimes/pytorch/torch/ops/reduction.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/context.h"
#include "runtimes/pytorch/transformers/modules/locals.h"

namespace vramfit::pytorch {
namespace {

Tensor make(Context& context, const Dims& sizes, ScalarType type) {
  return empty(context, sizes, type, Category::Inputs);
}

/// find_packed_sequence_indices: looks for several sequences in a row of tokens, in training.
void find_packed_sequences(Context& context, std::int64_t batch, std::int64_t tokens) {
  const Tensor first = make(context, {batch, 1}, ScalarType::Long);
  Tensor padded = make(context, {batch, tokens + 1}, ScalarType::Long);
  const Tensor difference = make(context, {batch, tokens}, ScalarType::Long);
  padded.reset();
  Tensor changes = make(context, {batch, tokens}, ScalarType::Bool);
  // cumsum's result is there before what it sums is cast (ReduceOps.cpp, impl_func_cum_ops).
  const Tensor sums = make(context, {batch, tokens}, ScalarType::Long);
  Tensor converted = make(context, {batch, tokens}, ScalarType::Long);
  // One row is scanned by cub, with a workspace of its own.
  if (batch == 1) make(context, {1279}, ScalarType::Byte);
  converted.reset();
  changes.reset();
  const Tensor none = make(context, {batch}, ScalarType::Bool);
  const Tensor all = make(context, {}, ScalarType::Bool);
  context.use_asserts();
}

/// and_masks: a condition on top of others, which goes before they do.
void also(Tensor& mask, Tensor condition, const Dims& sizes) {
  Tensor both = make(mask.context(), sizes, ScalarType::Bool);
  condition.reset();
  mask = std::move(both);
}

/// sliding_window_causal_mask_function.
Tensor window_mask(Context& context, const Dims& square) {
  Tensor mask = make(context, {}, ScalarType::Bool);                     // ones
  Tensor first = make(context, {1, 1, square[2], 1}, ScalarType::Long);  // that one sees
  Tensor within = make(context, square, ScalarType::Bool);
  first.reset();
  also(mask, std::move(within), square);
  also(mask, make(context, square, ScalarType::Bool), square);
  return mask;
}

/// padding_mask_function: padding[batch, keys], whose indices are copied where their strides are
/// not alike (TensorAdvancedIndexing.cpp, make_info); of one row the keys already lie in a row.
Tensor padding_mask(Context& context, const MaskRequest& request) {
  const Dims row = {request.batch, 1, 1, request.keys};
  const Tensor rows = make(context, row, ScalarType::Long);
  const Tensor keys = request.batch > 1 ? make(context, row, ScalarType::Long) : Tensor();
  return make(context, row, ScalarType::Bool);
}

/// sdpa_mask: true where a query may look. What generate() says of padding counts wherever there is
/// a mask at all, whether it hides something or not.
Tensor boolean_mask(Context& context, const MaskRequest& request) {
  const Dims square = {1, 1, request.queries, request.keys};
  const Dims full = {request.batch, 1, request.queries, request.keys};
  Tensor batch = make(context, {request.batch}, ScalarType::Long);
  Tensor head = make(context, {1}, ScalarType::Long);
  const auto range = [&](std::int64_t length) {  // arange(length) + offset
    const Tensor steps = make(context, {length}, ScalarType::Long);
    return make(context, {length}, ScalarType::Long);
  };
  Tensor queries = range(request.queries);
  Tensor keys = range(request.keys);
  const auto causal = [&] {
    return request.window ? window_mask(context, square) : make(context, square, ScalarType::Bool);
  };
  Tensor mask;
  if (request.padding.defined()) {
    mask = make(context, {}, ScalarType::Bool);  // ones
    also(mask, causal(), square);
    also(mask, padding_mask(context, request), full);
  } else {
    mask = causal();
  }
  drop({&batch, &head, &queries, &keys});
  // mask.expand(batch, …): a view, but what is made of it is as large as it looks.
  return expand(mask, full);
}

/// _ignore_causal_mask_sdpa. `padding`: bools; undefined: there is none.
bool can_skip(Context& context, const MaskRequest& request, const Tensor& padding) {
  if (request.window && request.keys >= *request.window) return false;
  const auto fast_all = [&] {
    const Tensor count = sum(padding, all_dims(padding.rank()), false);
    make(context, {}, ScalarType::Bool);
  };
  if (padding.defined()) fast_all();
  // It is asked again whether an empty cache's padding lies behind the prompt.
  if (padding.defined() && request.padded && request.empty && !request.room) fast_all();
  if (request.room) return !request.padded && request.empty;
  return !request.padded && (request.queries == 1 || request.queries == request.keys);
}

}  // namespace

Tensor create_causal_mask(Context& context, AttentionKind attention, const MaskRequest& request) {
  if (!request.cached && !request.padding.defined()) {
    find_packed_sequences(context, request.batch, request.queries);
  }
  Tensor padding;
  if (request.padding.defined()) padding = make(context, request.padding.sizes(), ScalarType::Bool);
  if (attention == AttentionKind::Sdpa && can_skip(context, request, padding)) return {};
  const bool eager = attention == AttentionKind::Eager;
  Tensor allowed = boolean_mask(context, request);
  if (!eager) return allowed;
  // eager_mask: 0 and the type's lowest number, by torch.where.
  const Tensor zero = make(context, {}, request.type);
  const Tensor lowest = make(context, {}, request.type);
  return make(context, allowed.sizes(), request.type);
}

}  // namespace vramfit::pytorch
