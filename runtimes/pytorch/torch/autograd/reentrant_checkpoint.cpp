#include "runtimes/pytorch/torch/autograd/reentrant_checkpoint.h"

#include <utility>

#include "runtimes/pytorch/torch/autograd/engine.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {

Tensor reentrant_checkpoint(Context& context, const std::function<Tensor(const Tensor&)>& function,
                            const Tensor& input) {
  const auto make_backward = [&] {
    return [&context, function, saved = Saved(input), enabled = context.autocast.state()](
               Node&, Gradients& grads) -> Gradients {
      const Tensor detached = saved.unpack().detach();
      detached.impl()->requires_grad = true;
      Tensor output;
      {
        const Setting grad(context.grad_enabled, true);
        const AutocastScope autocast(context.autocast, enabled);
        output = function(detached);
      }
      backward(output, grads[0]);
      Tensor grad(detached.impl()->grad);
      Storage& storage = *grad.impl()->storage;  // a leaf's, but not a parameter's
      if (storage.category == Category::Gradients) storage.relabel(Category::Activations);
      return {std::move(grad)};
    };
  };
  const Ref<Node> node = make_node(context, make_backward, input);
  Tensor output;
  {
    const Setting no_grad(context.grad_enabled, false);
    output = function(input);
  }
  set_history(output, node);
  return output;
}

}  // namespace vramfit::pytorch
