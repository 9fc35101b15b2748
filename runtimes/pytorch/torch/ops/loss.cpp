#include "runtimes/pytorch/torch/ops/loss.h"

#include "runtimes/pytorch/torch/ops/cast.h"
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

Tensor cross_entropy_loss(const Tensor& logits, const Tensor& target) {
  return nll_loss(log_softmax(upper(logits)), target);
}

}  // namespace vramfit::pytorch
