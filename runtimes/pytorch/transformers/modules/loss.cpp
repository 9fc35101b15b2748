#include "runtimes/pytorch/transformers/modules/loss.h"

#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

Tensor log_softmax(const Tensor& x) {
  const Tensor result = empty(x.context(), x.sizes(), x.type());
  const auto make_backward = [&] {
    return [saved = Saved(result)](Node&, Gradients& grads) -> Gradients {
      const Tensor output = saved.unpack();
      return {empty(grads[0].context(), output.sizes(), output.type())};
    };
  };
  set_history(result, make_node(x.context(), make_backward, x));
  return result;
}

/// nll_loss_forward: the mean and the sum of weights.
Tensor nll_loss(const Tensor& x, const Tensor& target) {
  Context& context = x.context();
  const Tensor result = empty(context, {}, x.type());
  const Tensor total_weight = empty(context, {}, x.type());
  const auto make_backward = [&] {
    return [logits = Saved(x), target = Saved(target), total_weight = Saved(total_weight)](
               Node&, Gradients& grads) -> Gradients {
      const Tensor input = logits.unpack();
      const Tensor kept[] = {target.unpack(), total_weight.unpack()};
      return {empty(grads[0].context(), input.sizes(), input.type())};  // zeros, then one a row
    };
  };
  set_history(result, make_node(context, make_backward, x));
  return result;
}

}  // namespace

Tensor causal_lm_loss(const Tensor& logits, const Tensor& labels) {
  Context& context = logits.context();
  const Tensor upcast = to(logits, ScalarType::Float);
  const Tensor padded =
      empty(context, labels.sizes().with(1, labels.size(1) + 1), ScalarType::Long);
  // labels[..., 1:].contiguous(): of one row a view is contiguous.
  const Tensor shifted = labels.size(0) == 1 ? slice(padded, 1, labels.size(1))
                                             : empty(context, labels.sizes(), ScalarType::Long);
  const Tensor rows = reshape(upcast, {labels.numel(), logits.size(-1)});
  return nll_loss(log_softmax(rows), shifted);
}

}  // namespace vramfit::pytorch
