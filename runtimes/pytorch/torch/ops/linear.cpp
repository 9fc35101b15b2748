#include "runtimes/pytorch/torch/ops/linear.h"

#include <algorithm>

#include "runtimes/pytorch/torch/ops/cast.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

Tensor gemm(const Tensor& a, const Tensor& b) {
  Tensor result = empty(a.context(), {a.size(0), b.size(1)}, a.type());
  a.context().cublas.use(a.context());
  return result;
}

/// mm_mat1_grad and mm_mat2_grad: the gradient takes the operand's layout.
Tensor grad_of_left(const Tensor& grad, const Tensor& right) { return gemm(grad, t(right)); }

Tensor grad_of_right(const Tensor& grad, const Tensor& left, bool column_major) {
  return column_major ? t(gemm(t(grad), left)) : gemm(t(left), grad);
}

bool is_column_major(const Tensor& a) { return a.strides()[0] == 1 && a.strides()[1] == a.size(0); }

Tensor bmm(const Tensor& a, const Tensor& b) {
  const auto make_backward = [&] {
    return [left = Saved(b.requires_grad() ? a : Tensor()),
            right = Saved(a.requires_grad() ? b : Tensor())](Node& self,
                                                             Gradients& grads) -> Gradients {
      const Tensor mat1 = left.unpack();
      const Tensor mat2 = right.unpack();
      Gradients result;
      // "mat2" before "self".
      if (self.wants(1)) result[1] = bmm(transpose(mat1, 1, 2), grads[0]);
      if (self.wants(0)) result[0] = bmm(grads[0], transpose(mat2, 1, 2));
      return result;
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a, b);
  Tensor result = empty(a.context(), {a.size(0), a.size(1), b.size(2)}, a.type());
  a.context().cublas.use(a.context());
  set_history(result, node);
  return result;
}

Dims batch_sizes(const Tensor& a) {
  Dims sizes;
  for (int i = 0; i < a.rank() - 2; ++i) sizes.push_back(a.size(i));
  return sizes;
}

/// A stack as bmm takes it: expanded, then one batch dimension.
Tensor stack(const Tensor& a, Dims batch) {
  const std::int64_t count = batch.product();
  batch.push_back(a.size(-2));
  batch.push_back(a.size(-1));
  return reshape(expand(a, batch), {count, a.size(-2), a.size(-1)});
}

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) {
  const auto make_backward = [&] {
    return [left = Saved(b.requires_grad() ? a : Tensor()),
            right = Saved(a.requires_grad() ? b : Tensor()),
            column_major = is_column_major(b)](Node& self, Gradients& grads) -> Gradients {
      const Tensor mat1 = left.unpack();
      const Tensor mat2 = right.unpack();
      Gradients result;
      if (self.wants(1)) result[1] = grad_of_right(grads[0], mat1, column_major);
      if (self.wants(0)) result[0] = grad_of_left(grads[0], mat2);
      return result;
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a, b);
  Tensor result = gemm(a, b);
  set_history(result, node);
  return result;
}

Tensor addmm(const Tensor& bias_in, const Tensor& a_in, const Tensor& b_in) {
  Context& context = a_in.context();
  // Autocast casts arguments in the order in which GCC evaluates them: the last one first.
  const Tensor b = lower(b_in);
  const Tensor a = lower(a_in);
  const Tensor bias = lower(bias_in);
  const auto make_backward = [&] {
    return [left = Saved(b.requires_grad() ? a : Tensor()),
            right = Saved(a.requires_grad() ? b : Tensor()),
            column_major = is_column_major(b)](Node& self, Gradients& grads) -> Gradients {
      const Tensor mat1 = left.unpack();
      const Tensor mat2 = right.unpack();
      Gradients result;
      // "mat1", "mat2", "self"; the engine sums the bias's over the rows.
      if (self.wants(1)) result[1] = grad_of_left(grads[0], mat2);
      if (self.wants(2)) result[2] = grad_of_right(grads[0], mat1, column_major);
      if (self.wants(0)) result[0] = grads[0];
      return result;
    };
  };
  const Ref<Node> node = make_node(context, make_backward, bias, a, b);
  Tensor result = empty(context, {a.size(0), b.size(1)}, a.type());
  // A bias, or what looks like one, is an epilogue of cuBLASLt's.
  const bool is_bias = bias.rank() == 1 || bias.size(0) == 1;
  is_bias ? context.cublas.use_lt(context) : context.cublas.use(context);
  set_history(result, node);
  return result;
}

// aten/src/ATen/native/Linear.cpp: one addmm with a bias (_flatten_nd_linear), otherwise a matmul,
// which folds the batch into rows.
Tensor linear(const Tensor& x_in, const Tensor& weight_in, const Tensor& bias_in) {
  const Tensor bias = lower(bias_in);
  const Tensor weight = lower(weight_in);
  const Tensor x = lower(x_in);
  const Dims sizes = x.sizes().with(-1, weight.size(0));
  if (bias.defined()) {
    const Tensor rows = reshape(x, flat(x));
    return reshape(addmm(bias, rows, t(weight)), sizes);
  }
  // The weight is transposed first: in backward what goes back to x is added up before the weight's
  // gradient is.
  const Tensor transposed = t(weight);
  const Tensor rows = reshape(x, flat(x));
  return reshape(mm(rows, transposed), sizes);
}

Tensor matmul(const Tensor& a_in, const Tensor& b_in) {
  const Tensor b = lower(b_in);
  const Tensor a = lower(a_in);
  Dims sizes = broadcast(batch_sizes(a), batch_sizes(b));
  const Tensor result = bmm(stack(a, sizes), stack(b, sizes));
  sizes.push_back(a.size(-2));
  sizes.push_back(b.size(-1));
  return reshape(result, sizes);
}

}  // namespace vramfit::pytorch
