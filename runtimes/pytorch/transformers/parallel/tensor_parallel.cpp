#include "runtimes/pytorch/transformers/parallel/tensor_parallel.h"

#include <memory>
#include <variant>

#include "runtimes/pytorch/torch/distributed/dtensor.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/linear.h"
#include "runtimes/pytorch/torch/tensor/graph.h"
#include "runtimes/pytorch/transformers/parallel/tp_plan.h"

namespace vramfit::pytorch {
namespace {

bool grad_enabled(const Tensor& x) { return x.context().grad_enabled; }

Forward<Linear> colwise(std::int64_t gpus, bool gathers) {
  return [=](const Linear& linear, const Tensor& x) {
    const Tensor part = linear.multiply(grad_enabled(x) ? from_replicated(x) : x, linear.bias);
    return gathers ? all_gather(part, gpus) : part;
  };
}

// Without gradients partial sums are summed where they lie, and the bias is added to them.
Forward<Linear> rowwise(std::int64_t gpus, bool splits) {
  return [=](const Linear& linear, const Tensor& x) {
    const Tensor own = splits ? keep_part(x, gpus) : x;
    if (grad_enabled(x)) return all_reduce(linear.multiply(own, linear.bias));
    Tensor sum = linear.multiply(own, {});
    sum.context().libraries.use_collectives();
    if (linear.bias.defined()) sum = add(sum, linear.bias);
    return sum;
  };
}

/// torch/utils/hooks.py (BackwardHook): what comes back to a module is held until it is through.
Forward<Norm> with_backward_hook() {
  return [](const Norm& norm, const Tensor& x) {
    const auto held = std::make_shared<Tensor>();
    const auto passed = [](const Tensor& from, auto backward) {
      const Ref<Node> node = make_node(
          from.context(), [&] { return backward; }, from);
      Tensor to = from.detach();
      set_history(to, node);
      return to;
    };
    const Tensor input = passed(x, [held](Node&, Gradients& grads) -> Gradients {
      held->reset();
      return {grads[0]};
    });
    const Tensor output = norm.normalize(input);
    return passed(output, [held](Node&, Gradients& grads) -> Gradients {
      *held = grads[0];
      return {grads[0]};
    });
  };
}

Forward<Embedding> embedding_rowwise(std::int64_t rows) {
  return [rows](const Embedding& table, const Tensor& indices) {
    return embedding_of_part(table.weight, indices, rows);
  };
}

/// The first's part of it, of which a dimension is cut.
void cut(Tensor& tensor, int dim, std::int64_t gpus) {
  if (!tensor.defined()) return;
  const bool requires_grad = tensor.impl()->requires_grad;
  tensor = empty_meta(tensor.context(),
                      tensor.sizes().with(dim, shard_size(tensor.size(dim), gpus)), tensor.type());
  tensor.impl()->requires_grad = requires_grad;
}

void install(Linear& linear, TpStyle style, std::int64_t gpus) {
  if (style == TpStyle::Colwise || style == TpStyle::ColwiseGatherOutput) {
    cut(linear.weight, 0, gpus);
    cut(linear.bias, 0, gpus);
    linear.forward = colwise(gpus, style == TpStyle::ColwiseGatherOutput);
    return;
  }
  cut(linear.weight, 1, gpus);
  linear.forward = rowwise(gpus, style == TpStyle::RowwiseSplitInput);
}

}  // namespace

void apply_tensor_parallelism(CausalLm& model, const ModelConfig& config, std::int64_t gpus) {
  for (const CausalLm::NamedModule& named : model.named_modules()) {
    const auto style = tp_style(config, named.name, named.layer);
    if (!style) continue;
    if (auto* const* linear = std::get_if<Linear*>(&named.module)) {
      install(**linear, *style, gpus);
    } else if (auto* const* norm = std::get_if<Norm*>(&named.module)) {
      (*norm)->forward = with_backward_hook();
    } else {
      Embedding& table = *std::get<Embedding*>(named.module);
      table.forward = embedding_rowwise(table.weight.size(0));
      cut(table.weight, 0, gpus);
    }
  }
  model.tie_weights();
}

}  // namespace vramfit::pytorch
