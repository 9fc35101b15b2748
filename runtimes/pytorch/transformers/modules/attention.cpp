#include "runtimes/pytorch/transformers/modules/attention.h"

#include "runtimes/pytorch/torch/ops/attention.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/linear.h"
#include "runtimes/pytorch/torch/ops/normalization.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

Tensor repeat_kv(const Tensor& a, std::int64_t groups) {
  if (groups == 1) return a;
  const Dims wide = {a.size(0), a.size(1), groups, a.size(2), a.size(3)};
  return reshape(expand(unsqueeze(a, 2), wide),
                 {a.size(0), a.size(1) * groups, a.size(2), a.size(3)});
}

// transformers/integrations/sdpa_attention.py.
Attended sdpa(const AttentionSettings& settings, const Tensor& query, const Tensor& key_in,
              const Tensor& value_in, const Tensor& mask) {
  const std::int64_t groups = query.size(1) / key_in.size(1);
  SdpaOptions options;
  options.mask = mask;
  options.dropout = settings.training ? settings.dropout : 0;
  options.causal = query.size(2) > 1 && !mask.defined();
  // use_gqa_in_sdpa
  options.grouped = groups > 1 && !mask.defined() && key_in.size(-1) <= 256;
  const Tensor key = options.grouped ? key_in : repeat_kv(key_in, groups);
  const Tensor value = options.grouped ? value_in : repeat_kv(value_in, groups);
  const Tensor output = scaled_dot_product_attention(query, key, value, options);
  return {contiguous(transpose(output, 1, 2)), {}};
}

Attended eager(const AttentionSettings& settings, const Tensor& query, const Tensor& key_in,
               const Tensor& value_in, const Tensor& mask) {
  const std::int64_t groups = query.size(1) / key_in.size(1);
  const Tensor key = repeat_kv(key_in, groups);
  const Tensor value = repeat_kv(value_in, groups);
  Tensor weights = matmul(query, transpose(key, 2, 3));
  weights = mul_scalar(weights);
  if (settings.softcap) {
    weights = mul_scalar(weights);
    weights = tanh(weights);
    weights = mul_scalar(weights);
  }
  if (mask.defined()) weights = add(weights, mask);
  const auto wide = settings.softmax_in_float ? std::optional(ScalarType::Float) : std::nullopt;
  Tensor probabilities = softmax(weights, wide);
  weights = to(probabilities, settings.softmax_in_float ? query.type() : value.type());
  probabilities.reset();
  weights = dropout(weights, settings.dropout, settings.training);
  const Tensor output = matmul(weights, value);
  return {contiguous(transpose(output, 1, 2)), weights};
}

}  // namespace

Attended attend(const AttentionSettings& settings, const Tensor& query, const Tensor& key,
                const Tensor& value, const Tensor& mask) {
  Attended result = settings.kind == AttentionKind::Sdpa ? sdpa(settings, query, key, value, mask)
                                                         : eager(settings, query, key, value, mask);
  const Tensor& output = result.output;
  result.output =
      reshape(output, {output.size(0), output.size(1), output.size(2) * output.size(3)});
  return result;
}

}  // namespace vramfit::pytorch
