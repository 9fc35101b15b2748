#include "runtimes/pytorch/torch/autograd/reentrant_checkpoint.h"

#include <optional>
#include <utility>

#include "runtimes/pytorch/torch/autograd/engine.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// CheckpointFunction's: what it runs is an attribute of its ctx, and with it all that a layer is
/// called with by keywords; its input and what `release` drops are saved.
struct CheckpointFunctionBackward {
  static constexpr bool kOutlivesBackward = true;
  Context& context;
  std::function<Tensor(const Tensor&)> function;
  std::optional<Saved> input;
  std::function<void()> release;
  Autocast::State enabled;

  Gradients operator()(Node&, Gradients& grads) {
    const Tensor detached = input->unpack().detach();
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
    input.reset();
    release();
    return {std::move(grad)};
  }
};

}  // namespace

Tensor reentrant_checkpoint(Context& context, const std::function<Tensor(const Tensor&)>& function,
                            const Tensor& input, const std::function<void()>& release) {
  const auto make_backward = [&] {
    return CheckpointFunctionBackward{context, function, Saved(input), release,
                                      context.autocast.state()};
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
