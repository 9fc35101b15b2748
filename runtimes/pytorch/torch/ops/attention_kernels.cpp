#include "runtimes/pytorch/torch/ops/attention_kernels.h"

#include <algorithm>

#include "model/checked.h"
#include "model/ops/cudnn_attention.h"
#include "runtimes/pytorch/torch/ops/binary.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/flash_splits.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/linear.h"
#include "runtimes/pytorch/torch/ops/normalization.h"
#include "runtimes/pytorch/torch/ops/pad.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

Tensor workspace(Context& context, std::int64_t bytes) {
  return empty(context, {bytes}, ScalarType::Byte, Category::Workspace);
}

constexpr std::int64_t round_up(std::int64_t n, std::int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

/// The output in the query's memory order, as heads of the value's width.
Tensor output_like(const Tensor& query, const Tensor& value) {
  const Tensor shaped = as_strided(query, query.sizes().with(3, value.size(3)), query.strides());
  return empty_for({&shaped}, query.type());
}

}  // namespace

Tensor additive_mask(const Tensor& mask, ScalarType type) {
  if (!mask.defined() || mask.type() != ScalarType::Bool) return mask;
  // at::where(mask, 0, -inf) makes two scalars on the way.
  const Tensor zero = empty(mask.context(), {}, type);
  const Tensor infinity = empty(mask.context(), {}, type);
  return empty(mask.context(), mask.sizes(), type);
}

Tensor aligned_mask(const Tensor& mask, std::int64_t heads) {
  constexpr std::int64_t kAlignment = 8;
  if (!mask.defined()) return mask;
  const Dims sizes = mask.sizes().with(1, heads);
  const std::int64_t behind = kAlignment - mask.size(-1) % kAlignment;
  bool is_aligned = true;
  for (int i = 0; i + 1 < mask.rank(); ++i) is_aligned &= mask.strides()[i] % kAlignment == 0;
  if (is_aligned) return expand(mask, sizes);
  return expand(slice(constant_pad(mask, {0, behind}), -1, mask.size(-1)), sizes);
}

namespace {

CudnnAttention shape_of(const Tensor& query, const Tensor& key) {
  return {query.size(0), query.size(1),           key.size(1), query.size(2), key.size(2),
          query.size(3), element_size(key.type())};
}

}  // namespace

// cudnn/MHA.cpp (run_cudnn_SDP_fprop, run_cudnn_SDP_bprop).
Tensor cudnn_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                       const SdpaOptions& options) {
  Context& context = query.context();
  const bool training = needs_graph(context, query, key, value);
  if (!context.elsewhere) context.libraries.use_attention(false);
  const Tensor seed = empty(context, {}, ScalarType::Long);
  const Tensor offset = empty(context, {}, ScalarType::Long);
  const Tensor result = output_like(query, value);
  Tensor statistics;
  if (training) {
    statistics = empty(context, query.sizes().with(3, 1), ScalarType::Float);
  }
  const auto bytes = cudnn_forward_workspace(shape_of(query, key), context.multiprocessors);
  if (bytes > 0) workspace(context, static_cast<std::int64_t>(bytes));
  const auto make_backward = [&] {
    return [query = Saved(query), key = Saved(key), value = Saved(value),
            mask = Saved(options.mask), output = Saved(result), statistics = Saved(statistics),
            seed = Saved(seed), offset = Saved(offset)](Node&, Gradients& grads) -> Gradients {
      Context& c = grads[0].context();
      c.libraries.use_attention(true);
      const Tensor q = query.unpack();
      const Tensor k = key.unpack();
      const Tensor v = value.unpack();
      const Tensor rest[] = {mask.unpack(), output.unpack(), statistics.unpack(), seed.unpack(),
                             offset.unpack()};
      Gradients outputs = {like(q), like(k), like(v)};
      workspace(c, static_cast<std::int64_t>(cudnn_backward_workspace(shape_of(q, k))));
      return outputs;
    };
  };
  set_history(result, make_node(context, make_backward, query, key, value));
  return result;
}

namespace {

/// A gradient of keys or values for each of the queries' heads that share them.
Tensor for_each_head(const Tensor& x, const Tensor& query) {
  const Dims expanded = {x.size(0), x.size(2), query.size(1), x.size(3)};
  return empty(x.context(), expanded, x.type(), Category::Workspace);
}

/// What flash attention accumulates into.
std::int64_t flash_width(std::int64_t head_dim) {
  return round_up(head_dim, head_dim <= 128 ? 32 : 64);
}

/// The sums and outputs of each part that keys are split into; none where they are not.
struct FlashParts {
  Tensor sums;
  Tensor outputs;
};

FlashParts flash_parts(const Tensor& query, const Tensor& key, const SdpaOptions& options) {
  if (options.dropout > 0) return {};
  Context& context = query.context();
  // seqlenq_ngroups_swapped: a token's queries of a group are taken as queries of one head.
  const bool by_groups = query.size(2) == 1 && query.size(1) > key.size(1);
  const FlashShape shape = {query.size(0), by_groups ? key.size(1) : query.size(1),
                            by_groups ? query.size(1) / key.size(1) : query.size(2), key.size(2),
                            query.size(3)};
  const std::int64_t splits = flash_splits(shape, context.multiprocessors);
  if (splits == 1) return {};
  const std::int64_t sums = splits * shape.batch * shape.heads * shape.queries * 4;
  const Tensor of_sums = workspace(context, sums);
  return {of_sums, workspace(context, sums * flash_width(shape.head_dim))};
}

}  // namespace

// cuda/flash_attn/flash_api.cpp (mha_fwd, mha_bwd).
Tensor flash_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                       const SdpaOptions& options) {
  Context& context = query.context();
  if (!context.elsewhere) context.libraries.use_attention(false);
  const Tensor result = output_like(query, value);
  const Tensor statistics =
      empty(context, {query.size(0), query.size(1), query.size(2)}, ScalarType::Float);
  const FlashParts parts = flash_parts(query, key, options);
  const Tensor seed = empty(context, {2}, ScalarType::Long);
  const Tensor unused = empty(context, {}, ScalarType::Long);
  const auto make_backward = [&] {
    return [query = Saved(query), key = Saved(key), value = Saved(value), output = Saved(result),
            statistics = Saved(statistics), seed = Saved(seed),
            unused = Saved(unused)](Node&, Gradients& grads) -> Gradients {
      Context& c = grads[0].context();
      c.libraries.use_attention(true);
      const Tensor q = query.unpack();
      const Tensor k = key.unpack();
      const Tensor v = value.unpack();
      const Tensor o = output.unpack();
      const Tensor rest[] = {statistics.unpack(), seed.unpack(), unused.unpack()};
      // _flash_attention_backward: as (batch, tokens, heads, width).
      const Tensor grad = contiguous(transpose(grads[0], 1, 2));
      const Tensor out = contiguous(transpose(o, 1, 2));
      Gradients outputs = {like(q), like(k), like(v)};
      const std::int64_t rows = round_up(q.size(2), 128);
      const std::int64_t width = flash_width(q.size(3));
      const Tensor sums = workspace(c, q.size(0) * q.size(1) * rows * 4);
      const Tensor accumulator = workspace(c, q.size(0) * rows * q.size(1) * width * 4);
      if (k.size(1) != q.size(1)) {
        const Tensor keys = for_each_head(k, q);
        const Tensor values = for_each_head(k, q);
      }
      return outputs;
    };
  };
  set_history(result, make_node(context, make_backward, query, key, value));
  return result;
}

namespace {

/// A kernel of mem_eff_attention/kernels/cutlassB.h, as attention_backward.cu comes to one that has
/// the width and fits into shared memory: rows of a block, columns of dQ that it sums up at once,
/// and whether dK and dV are summed up in memory as well. Read off the workspaces of all widths.
struct BackwardTile {
  std::int64_t rows;
  std::int64_t columns;
  bool sums_keys = false;
};

BackwardTile backward_tile(Arch arch, bool half, std::int64_t width) {
  const bool much_shared = arch.sm == 80 || arch.sm == 90 || arch.sm == 100;
  if (width <= 64) return {64, 64};
  if (!half) return much_shared ? BackwardTile{128, 64} : BackwardTile{64, 64};
  if (width > 128) return {128, 64, true};
  if (much_shared) return {128, 128};
  const std::int64_t widest = arch.sm == 75 ? 128 : arch.sm == 120 ? 64 : 96;
  return width <= widest ? BackwardTile{128, 64} : BackwardTile{64, 64, true};
}

/// attention_backward.cu (num_splits_key): into how many parts keys are split where dK and dV are
/// accumulated in memory, each part in a workspace of one block of keys. Its other rule, for 256
/// heads and more, changes nothing: 200 / (batch · heads) is 0 then.
std::int64_t key_splits(const Tensor& k, std::int64_t heads, std::int64_t rows) {
  constexpr std::int64_t kMostParts = 200;  // of all heads together
  const std::int64_t most = kMostParts / (k.size(0) * heads);
  return std::max<std::int64_t>(1, std::min(div_up(k.size(2), rows), most));
}

/// kernel_backward.h (workspace_strideBH): each sum of dQ has a lock of 16 bytes.
std::int64_t backward_workspace(Arch arch, const Tensor& q, const Tensor& k, const Tensor& v) {
  const std::int64_t width = std::max(q.size(3), v.size(3));
  const BackwardTile tile = backward_tile(arch, is_half(q.type()), width);
  const std::int64_t sums = round_up(q.size(2), tile.rows) / tile.rows *
                            (round_up(q.size(3), tile.columns) / tile.columns) *
                            (tile.rows * tile.columns * 4 + 16);
  const std::int64_t widths = round_up(q.size(3), tile.rows) + round_up(v.size(3), tile.rows);
  constexpr std::int64_t kKeys = 64;  // of a block
  const std::int64_t splits = tile.sums_keys ? key_splits(k, q.size(1), kKeys) : 0;
  const std::int64_t keys = splits * kKeys * widths * 4;
  return q.size(0) * q.size(1) * (sums + keys);
}

/// Of queries, keys or values: (batch, tokens, heads, width), looked at as (batch, heads, tokens,
/// width).
Tensor efficient_gradient(const Tensor& x) {
  const Dims by_token = {x.size(0), x.size(2), x.size(1), x.size(3)};
  return transpose(empty(x.context(), by_token, x.type()), 1, 2);
}

/// A mask's own: rows are a multiple of 16 elements in memory.
Tensor bias_gradient(const Tensor& mask) {
  const Dims aligned = mask.sizes().with(-1, round_up(mask.size(-1), 16));
  return slice(empty(mask.context(), aligned, mask.type()), -1, mask.size(-1));
}

/// The rows' sums of grad * output: within the kernel where that has 16 bits, else before it.
Tensor delta_of(const Tensor& grad, const Tensor& q) {
  Context& context = grad.context();
  const std::int64_t bytes = q.size(0) * q.size(1) * q.size(2) * 4;
  if (is_half(q.type())) return workspace(context, bytes);
  const Tensor product = empty(context, grad.sizes(), ScalarType::Float, Category::Workspace);
  const Tensor sums = workspace(context, bytes);
  const bool contiguous_already = q.size(1) == 1 || q.size(2) == 1;
  return contiguous_already ? sums : workspace(context, bytes);
}

}  // namespace

// cuda/attention.cu and attention_backward.cu (_efficient_attention_forward and _backward).
Tensor efficient_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                           const SdpaOptions& options) {
  Context& context = query.context();
  const bool training = needs_graph(context, query, key, value) ||
                        (context.release.rules.efficient_sums_for_masks && options.mask.defined() &&
                         needs_graph(context, options.mask));
  // Seed and offset of dropout; else they stay on the CPU.
  const bool seeds = context.release.rules.efficient_seeds_on_gpu;
  const auto seed_of = [&] { return seeds ? empty(context, {}, ScalarType::Long) : Tensor(); };
  const Tensor seed = seed_of();
  const Tensor offset = seed_of();
  // (batch, tokens, heads, width), looked at as (batch, heads, tokens, width).
  const Dims out = {query.size(0), query.size(2), query.size(1), value.size(3)};
  const Tensor result = transpose(empty(context, out, query.type()), 1, 2);
  Tensor statistics;
  if (training) {
    statistics = empty(context, {query.size(0), query.size(1), round_up(query.size(2), 32)},
                       ScalarType::Float);
  }
  // kernel_forward.h (kNeedsOutputAccumulatorBuffer): what is wider than its widest kernel that
  // keeps outputs in registers is summed up in memory, in fp32.
  constexpr std::int64_t kWidestInRegisters = 128;
  const std::int64_t width = std::max(query.size(3), value.size(3));
  if (is_half(query.type()) && width > kWidestInRegisters) {
    empty(context, out, ScalarType::Float, Category::Workspace);
  }
  const auto make_backward = [&] {
    return [query = Saved(query), key = Saved(key), value = Saved(value),
            mask = Saved(options.mask), output = Saved(result), statistics = Saved(statistics),
            seed = Saved(seed), offset = Saved(offset)](Node& self, Gradients& grads) -> Gradients {
      Context& c = grads[0].context();
      const Tensor q = query.unpack();
      const Tensor k = key.unpack();
      const Tensor v = value.unpack();
      const Tensor bias = mask.unpack();
      const Tensor rest[] = {output.unpack(), statistics.unpack(), seed.unpack(), offset.unpack()};
      Gradients outputs = {efficient_gradient(q), efficient_gradient(k), efficient_gradient(v)};
      const bool shared = k.size(1) != q.size(1);
      const Tensor keys = shared ? for_each_head(k, q) : Tensor();
      const Tensor values = shared ? for_each_head(v, q) : Tensor();
      if (self.wants(3)) outputs[3] = bias_gradient(bias);
      const Tensor delta = delta_of(grads[0], q);
      workspace(c, backward_workspace(c.arch, q, k, v));
      return outputs;
    };
  };
  set_history(result, make_node(context, make_backward, query, key, value, options.mask));
  return result;
}

namespace {

/// at::_safe_softmax: rows that are masked altogether become 0, in place. Autograd sees one op.
Tensor safe_softmax(const Tensor& scores) {
  Context& context = scores.context();
  const Tensor result = like(scores);
  {
    const Tensor masked = empty_for({&scores}, ScalarType::Bool);
    const Tensor rows = empty(context, scores.sizes().with(3, 1), ScalarType::Bool);
    const Tensor zero = empty(context, {}, scores.type());
  }
  const auto make_backward = [&] {
    return [saved = Saved(result)](Node&, Gradients&) -> Gradients {
      const Tensor output = saved.unpack();
      Tensor grad = like(output);
      const Tensor product = like(output);
      return {std::move(grad)};
    };
  };
  set_history(result, make_node(context, make_backward, scores));
  return result;
}

/// repeat_interleave along the heads: a copy.
Tensor repeat_heads(const Tensor& a, std::int64_t heads) {
  if (a.size(1) == heads) return a;
  const Dims wide = {a.size(0), a.size(1), heads / a.size(1), a.size(2), a.size(3)};
  return reshape(contiguous_copy(expand(unsqueeze(a, 2), wide)), a.sizes().with(1, heads));
}

Tensor causal_mask(Context& context, const Tensor& query, const Tensor& key) {
  const Dims sizes = {query.size(2), key.size(2)};
  Tensor mask = empty(context, sizes, ScalarType::Bool);  // ones
  mask = empty(context, sizes, ScalarType::Bool);         // tril
  return additive_mask(mask, query.type());
}

}  // namespace

// attention.cpp (_scaled_dot_product_attention_math): an op for each step, which autograd sees.
Tensor math_attention(const Tensor& query_in, const Tensor& key_in, const Tensor& value_in,
                      const SdpaOptions& options) {
  Context& context = query_in.context();
  const ScalarType type = query_in.type();
  // 16 bits are multiplied in fp32.
  const Tensor query_wide = to(query_in, ScalarType::Float);
  const Tensor key_wide = to(key_in, ScalarType::Float);
  const Tensor value_wide = to(value_in, ScalarType::Float);
  const Tensor query = mul_scalar(query_wide);
  const Tensor mask = options.causal ? causal_mask(context, query, key_in) : options.mask;
  const Tensor key = repeat_heads(key_wide, query.size(1));
  const Tensor value = repeat_heads(value_wide, query.size(1));
  Tensor weights = matmul(query, mul_scalar(transpose(key, 2, 3)));
  if (mask.defined()) add_(weights, mask);
  weights = safe_softmax(weights);
  weights = dropout(weights, options.dropout, true);
  const Tensor given = to(weights, type);  // the second result, which nobody takes
  return to(matmul(weights, value), type);
}

}  // namespace vramfit::pytorch
