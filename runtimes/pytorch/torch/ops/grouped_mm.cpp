#include "runtimes/pytorch/torch/ops/grouped_mm.h"

#include "model/checked.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// aten/src/ATen/native/cuda/GroupMM.cu: CUTLASS's arguments of each group, and its workspace:
/// tensor maps of 128 bytes and more for each multiprocessor. Other cards and types multiply group
/// by group, each after the other in one place.
void multiply_groups(Context& context, ScalarType type, std::int64_t groups) {
  const int sm = context.arch.sm;
  if ((sm != 90 && sm != 100) || type != ScalarType::BFloat16) return context.cublas.use(context);
  const ReleaseRules& rules = context.release.rules;
  const std::int64_t of_each =
      sm == 90 ? rules.grouped_mm_on_hopper : rules.grouped_mm_on_blackwell;
  const auto bytes = [&](std::int64_t n) {
    return empty(context, {n}, ScalarType::Byte, Category::Workspace);
  };
  // Strides of three operands, each array at a multiple of 16 bytes; their pointers; shapes.
  const std::int64_t strides = div_up(groups * 8, std::int64_t{16}) * 16;
  const Tensor arguments = bytes(3 * strides + groups * (3 * 8 + 3 * 4));
  const Tensor workspace = bytes(context.multiprocessors * of_each);
}

/// _grouped_mm_mat2_grad: a gradient takes the operand's layout.
bool is_column_major_stack(const Tensor& a) {
  return a.strides()[1] == 1 && a.strides()[2] == a.size(1);
}

Tensor product(Context& context, const Dims& sizes, ScalarType type, std::int64_t groups) {
  Tensor result = empty(context, sizes, type);
  multiply_groups(context, type, groups);
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
            weight = b.sizes(),
            column_major = is_column_major_stack(b)](Node& self, Gradients& grads) -> Gradients {
      const Tensor mat1 = left.unpack();
      const Tensor mat2 = right.unpack();
      const Tensor kept = ends.unpack();
      Context& c = grads[0].context();
      const ScalarType type = grads[0].type();
      Gradients result;
      // "mat2" before "self".
      if (self.wants(1)) {
        const Dims turned{weight[0], weight[2], weight[1]};
        result[1] = column_major ? transpose(product(c, turned, type, groups), 1, 2)
                                 : product(c, weight, type, groups);
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
