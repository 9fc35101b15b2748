#include "runtimes/pytorch/torch/ops/loss.h"

#include "runtimes/pytorch/torch/ops/cast.h"
#include "runtimes/pytorch/torch/ops/normalization.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
/// nll_loss_forward: losses and the sum of weights.
Tensor nll_loss(const Tensor& x_in, const Tensor& target, bool reduced) {
  const Tensor x = upper(x_in);
  Context& context = x.context();
  const Tensor result = empty(context, reduced ? Dims() : target.sizes(), x.type());
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

// Its log_softmax names the type that the logits have, which autocast leaves alone.
Tensor cross_entropy_loss(const Tensor& logits, const Tensor& target, bool reduced) {
  return nll_loss(log_softmax(logits, logits.type()), target, reduced);
}

}  // namespace vramfit::pytorch
