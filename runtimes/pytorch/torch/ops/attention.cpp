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

// aten/src/ATen/native/transformers/cuda/sdp_utils.cpp (select_sdp_backend), PyTorch 2.11: cuDNN
// first on Hopper and data-centre Blackwell, flash first elsewhere; what cannot take the inputs is
// passed over.
Backend select(const Tensor& query, const Tensor& key, const Tensor& value,
               const SdpaOptions& options) {
  const Context& context = query.context();
  const Arch arch = context.arch;
  const bool one_width = query.size(-1) == value.size(-1);
  const std::int64_t head_dim = query.size(-1);
  const bool half = is_half(query.type());
  // check_prefer_cudnn_attention.
  const bool cudnn_first =
      (arch.sm == 90 || arch.sm == 100) && context.release.cudnn > Version{9, 15, 0};
  // check_cudnn_tensor_shapes: wider heads on Hopper only, and more than one key.
  const bool shaped =
      head_dim <= (arch.sm == 90 ? 256 : 128) && head_dim % 8 == 0 && key.size(2) > 1;
  // check_attn_mask_shape: none that has a gradient.
  const bool learned = options.mask.defined() && needs_graph(context, options.mask);
  // check_last_dim_stride_equals_1_dense.
  const Tensor& mask = options.mask;
  const bool by_rows = !mask.defined() || mask.strides()[mask.rank() - 1] == 1;
  if (half && cudnn_first && shaped && !learned && by_rows) return Backend::Cudnn;
  // check_flash_attention_hardware_support, can_use_mem_efficient_attention: no flash attention
  // before Ampere, and no bf16 in either.
  const bool ampere = arch.sm >= 80;
  if (half && ampere && !options.mask.defined() && one_width && head_dim <= 256) {
    return Backend::Flash;
  }
  const bool efficient = ampere || query.type() != ScalarType::BFloat16;
  if (efficient && !options.grouped && by_rows) return Backend::Efficient;
  return Backend::Math;
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
  switch (select(query, key, value, options)) {
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
