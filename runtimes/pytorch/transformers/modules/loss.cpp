#include "runtimes/pytorch/transformers/modules/loss.h"

#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/loss.h"
#include "runtimes/pytorch/torch/ops/view.h"

namespace vramfit::pytorch {
Tensor causal_lm_loss(const Tensor& logits, const Tensor& labels) {
  Context& context = logits.context();
  const Tensor upcast = to(logits, ScalarType::Float);
  const Tensor padded =
      empty(context, labels.sizes().with(1, labels.size(1) + 1), ScalarType::Long);
  // labels[..., 1:].contiguous(): of one row a view is contiguous.
  const Tensor shifted = labels.size(0) == 1 ? slice(padded, 1, labels.size(1))
                                             : empty(context, labels.sizes(), ScalarType::Long);
  const Tensor rows = reshape(upcast, {labels.numel(), logits.size(-1)});
  return cross_entropy_loss(rows, shifted);
}

}  // namespace vramfit::pytorch
