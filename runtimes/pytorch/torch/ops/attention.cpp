#include "runtimes/pytorch/torch/ops/attention.h"

#include <optional>

#include "model/errors.h"
#include "runtimes/pytorch/torch/ops/attention_kernels.h"
#include "runtimes/pytorch/torch/ops/cast.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/tensor/context.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

enum class Backend { Cudnn, Flash, Efficient, Math };

struct Inputs {
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  const SdpaOptions& options;

  const Context& context() const { return query.context(); }
  int sm() const { return context().arch.sm; }
  std::int64_t head_dim() const { return query.size(-1); }
  bool is_half() const { return pytorch::is_half(query.type()); }
  /// check_last_dim_stride_equals_1_dense.
  bool mask_is_by_rows() const {
    const Tensor& mask = options.mask;
    return !mask.defined() || mask.strides()[mask.rank() - 1] == 1;
  }
};

// aten/src/ATen/native/transformers/cuda/sdp_utils.cpp. What its checks refuse is named by the
// check.

/// check_cudnn_tensor_shapes; of releases that go by the direction, read off
/// can_use_cudnn_attention of all widths.
bool cudnn_has_widths(const Inputs& in) {
  const std::int64_t keys = in.head_dim();
  const std::int64_t values = in.value.size(-1);
  if (keys % 8 != 0 || values % 8 != 0) return false;
  const auto are_within = [&](std::int64_t most) { return keys <= most && values <= most; };
  const bool of_deepseek = keys == 192 && values == 128;
  if (in.context().release.rules.cudnn_widths_by_direction) {
    if (!needs_graph(in.context(), in.query, in.key, in.value)) return are_within(256);
    return are_within(128) || of_deepseek || (keys == 256 && values == 256);
  }
  return in.sm() == 90 ? are_within(256) : are_within(128) || of_deepseek;
}

bool cudnn_takes(const Inputs& in) {
  // check_prefer_cudnn_attention: on Hopper and data-centre Blackwell.
  const bool preferred =
      (in.sm() == 90 || in.sm() == 100) && in.context().release.cudnn > Version{9, 15, 0};
  const bool shaped = cudnn_has_widths(in) && in.key.size(2) > 1;
  // check_attn_mask_shape: none that has a gradient.
  const bool learned = in.options.mask.defined() && needs_graph(in.context(), in.options.mask);
  return in.is_half() && preferred && shaped && !learned && in.mask_is_by_rows();
}

bool flash_takes(const Inputs& in) {
  // check_flash_attention_hardware_support: none before Ampere.
  if (!in.is_half() || in.sm() < 80 || in.options.mask.defined()) return false;
  // check_head_dim_size_flash.
  const std::int64_t head_dim = in.head_dim();
  if (head_dim != in.value.size(-1) || head_dim > 256) return false;
  // check_flash_causal_non_square_seqlens.
  if (in.options.causal && in.query.size(2) != in.key.size(2)) return false;
  // check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120: there is no backward.
  const bool little_shared = (in.sm() >= 86 && in.sm() <= 89) || in.sm() / 10 == 12;
  const bool too_wide = head_dim > 224 ? in.options.dropout > 0 : head_dim > 192;
  return !little_shared || !too_wide || !needs_graph(in.context(), in.query, in.key, in.value);
}

bool efficient_takes(const Inputs& in) {
  // can_use_mem_efficient_attention: no bf16 before Ampere.
  const bool typed = in.sm() >= 80 || in.query.type() != ScalarType::BFloat16;
  const bool groups = !in.options.grouped || in.context().release.rules.efficient_takes_groups;
  return typed && groups && in.mask_is_by_rows();
}

// select_sdp_backend: where cuDNN is preferred it comes first.
Backend select(const Inputs& in) {
  if (cudnn_takes(in)) return Backend::Cudnn;
  if (flash_takes(in)) return Backend::Flash;
  return efficient_takes(in) ? Backend::Efficient : Backend::Math;
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query_in, const Tensor& key_in,
                                    const Tensor& value_in, const SdpaOptions& options_in) {
  SdpaOptions options = options_in;
  const Tensor mask = lower(options.mask);  // as long as the call
  options.mask = mask;
  const Tensor value = lower(value_in);
  const Tensor key = lower(key_in);
  const Tensor query = lower(query_in);
  // What it is made of is below autocast.
  std::optional<AutocastScope> off;
  if (query.context().autocast.enabled()) off.emplace(query.context().autocast, std::nullopt);
  switch (select({query, key, value, options})) {
    case Backend::Cudnn:
      options.mask = additive_mask(options.mask, query.type());
      return cudnn_attention(query, key, value, options);
    case Backend::Flash:
      return flash_attention(query, key, value, options);
    case Backend::Efficient:
      options.mask = aligned_mask(additive_mask(options.mask, query.type()), query.size(1));
      return efficient_attention(query, key, value, options);
    case Backend::Math:
      break;
  }
  if (options.mask.defined() && needs_graph(query.context(), options.mask)) {
    throw BadInput("a mask's gradient where no kernel takes the mask is not predicted yet");
  }
  options.mask = additive_mask(options.mask, query.type());
  return math_attention(query, key, value, options);
}

}  // namespace vramfit::pytorch
