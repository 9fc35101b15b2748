#include "runtimes/pytorch/torch/ops/grouped_mm.h"

#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// aten/src/ATen/native/cuda/GroupMM.cu, PyTorch 2.11: CUTLASS's arguments of each group, and its
/// workspace, which is a tensor map of 128 bytes for each operand and multiprocessor.
void use_cutlass(Context& context, std::int64_t groups) {
  constexpr std::int64_t kArguments = 60;
  constexpr std::int64_t kWorkspaceOfAMultiprocessor = 512;
  const auto bytes = [&](std::int64_t n) {
    return empty(context, {n}, ScalarType::Byte, Category::Workspace);
  };
  const Tensor arguments = bytes(groups * kArguments);
  const Tensor workspace = bytes(context.multiprocessors * kWorkspaceOfAMultiprocessor);
}

/// Elsewhere each group is multiplied into its rows of the result.
bool has_kernel(const Context& context, ScalarType type) {
  return type == ScalarType::BFloat16 && (context.arch.sm == 90 || context.arch.sm == 100);
}

Tensor product(Context& context, const Dims& sizes, ScalarType type, std::int64_t groups) {
  Tensor result = empty(context, sizes, type);
  if (has_kernel(context, type)) use_cutlass(context, groups);
  return result;
}

}  // namespace

// It is on none of autocast's lists.
Tensor grouped_mm(const Tensor& a, const Tensor& b, const Tensor& offsets) {
  Context& context = a.context();
  const std::int64_t groups = b.size(0);
  const auto make_backward = [&] {
    return [left = Saved(b.requires_grad() ? a : Tensor()),
            right = Saved(a.requires_grad() ? b : Tensor()), ends = Saved(offsets), groups,
            weight = b.sizes()](Node& self, Gradients& grads) -> Gradients {
      const Tensor mat1 = left.unpack();
      const Tensor mat2 = right.unpack();
      const Tensor kept = ends.unpack();
      Context& c = grads[0].context();
      const ScalarType type = grads[0].type();
      Gradients result;
      // "mat2" before "self".
      if (self.wants(1)) {
        const Dims stored{weight[0], weight[2], weight[1]};
        result[1] = transpose(product(c, stored, type, groups), 1, 2);
      }
      if (self.wants(0)) result[0] = product(c, {grads[0].size(0), weight[1]}, type, groups);
      return result;
    };
  };
  const Ref<Node> node = make_node(context, make_backward, a, b);
  Tensor result = product(context, {a.size(0), b.size(2)}, a.type(), groups);
  set_history(result, node);
  return result;
}

}  // namespace vramfit::pytorch
