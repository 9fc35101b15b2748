#include "runtimes/pytorch/torch/ops/linear.h"

#include <algorithm>

#include "model/errors.h"
#include "runtimes/pytorch/torch/ops/binary.h"
#include "runtimes/pytorch/torch/ops/cast.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

// aten/src/ATen/native/cuda/cuBlasCommonArgs.h (prepare_matrix_for_cublas).
Tensor as_cublas_takes(const Tensor& a) {
  if (a.is_non_overlapping_and_dense()) return a;
  const auto leads = [&](int fast, int slow) {
    return a.strides()[fast] == 1 && a.strides()[slow] >= std::max<std::int64_t>(1, a.size(fast));
  };
  return leads(0, 1) || leads(1, 0) ? a : contiguous_copy(a.detach());
}

/// The same of a stack (prepare_batch_matrix_for_cublas), whose result is row-major.
Tensor stack_as_cublas_takes(const Tensor& a) {
  const auto leads = [&](int fast, int slow) {
    return a.strides()[fast] == 1 && a.strides()[slow] >= std::max<std::int64_t>(1, a.size(fast));
  };
  return leads(1, 2) || leads(2, 1) ? a : contiguous_copy(a.detach());
}

Tensor gemm(const Tensor& a, const Tensor& b) {
  Tensor result = empty(a.context(), {a.size(0), b.size(1)}, a.type());
  const Tensor right = as_cublas_takes(b);
  const Tensor left = as_cublas_takes(a);
  a.context().cublas.use(a.context());
  return result;
}

/// mm_mat1_grad and mm_mat2_grad: the gradient takes the operand's layout.
Tensor grad_of_left(const Tensor& grad, const Tensor& right, bool column_major) {
  return column_major ? t(gemm(right, t(grad))) : gemm(grad, t(right));
}

Tensor grad_of_right(const Tensor& grad, const Tensor& left, bool column_major) {
  return column_major ? t(gemm(t(grad), left)) : gemm(t(left), grad);
}

bool is_column_major(const Tensor& a) { return a.strides()[0] == 1 && a.strides()[1] == a.size(0); }

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

/// _is_outer_product of torch/_native/ops/bmm_outer_product.
bool is_outer(const Tensor& a, const Tensor& b) {
  return a.size(2) == 1 && b.size(1) == 1 && a.numel() > 0 && b.numel() > 0;
}

/// torch.mv
Tensor mv(const Tensor& a, const Tensor& b) {
  const auto make_backward = [&] {
    return [left = Saved(b.requires_grad() ? a : Tensor()),
            right = Saved(a.requires_grad() ? b : Tensor())](Node& self,
                                                             Gradients& grads) -> Gradients {
      const Tensor matrix = left.unpack();
      const Tensor vector = right.unpack();
      Gradients result;
      // grad.ger(vec), then self.t().mv(grad).
      if (self.wants(0)) result[0] = like(unsqueeze(grads[0], 1), unsqueeze(vector, 0));
      if (self.wants(1)) {
        result[1] = empty(grads[0].context(), {matrix.size(1)}, grads[0].type());
      }
      return result;
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a, b);
  Tensor result = empty(a.context(), {a.size(0)}, a.type());
  set_history(result, node);
  return result;
}

/// should_fold: the larger's batch becomes rows of one matrix.
bool folds(const Tensor& a, const Tensor& b) {
  const bool left_larger = a.rank() >= b.rank();
  const Tensor& larger = left_larger ? a : b;
  const Tensor& smaller = left_larger ? b : a;
  if (larger.rank() < 3 || smaller.rank() > 2) return false;
  if (smaller.requires_grad()) return true;
  if (a.rank() == 2) return false;
  if (larger.numel() == 0) return true;
  Dims sizes = larger.sizes();
  Dims strides = larger.strides();
  if (!left_larger) {
    std::swap(sizes[-1], sizes[-2]);
    std::swap(strides[-1], strides[-2]);
  }
  for (int i = 0; i < sizes.rank() - 2; ++i) {
    if (strides[i] != strides[i + 1] * sizes[i + 1]) return false;
  }
  return true;
}

Tensor folded(const Tensor& a, const Tensor& b) {
  const bool turned = b.rank() > a.rank();
  const Tensor larger = turned ? transpose(b, b.rank() - 2, b.rank() - 1) : a;
  const Tensor smaller = !turned ? b : a.rank() == 2 ? t(a) : a;
  Dims sizes;
  for (int i = 0; i < larger.rank() - 1; ++i) sizes.push_back(larger.size(i));
  const Tensor rows = reshape(larger, {sizes.product(), larger.size(-1)});
  if (smaller.rank() == 1) return unsafe_view(mv(rows, smaller), sizes);
  sizes.push_back(smaller.size(1));
  const Tensor result = unsafe_view(mm(rows, smaller), sizes);
  return turned ? contiguous(transpose(result, sizes.rank() - 2, sizes.rank() - 1)) : result;
}

/// isInputCompliesAddmmCudaLt: what is added is an epilogue of cuBLASLt's. Whether rows are of one
/// element shows where workspaces are of calls alone; LLM.int8()'s one outlier stands for many.
bool is_epilogue(const Context& context, const Tensor& bias, const Tensor& b,
                 const Tensor& result) {
  const ReleaseRules& rules = context.release.rules;
  const bool shows = rules.workspaces == Workspaces::OfCalls && !context.tape.in_times();
  if (b.size(1) == 1 || (shows && b.size(0) == 1)) return false;
  const bool is_row = bias.rank() == 1 || bias.size(0) == 1;
  if (is_row) return bias.size(-1) == b.size(1);
  return rules.lt_adds_matrices && is_half(result.type()) && bias.is_contiguous() &&
         bias.sizes() == result.sizes();
}

}  // namespace

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
  if (!a.context().release.rules.outer_products_by_triton || !is_outer(a, b)) {
    const Tensor mat1 = stack_as_cublas_takes(b);
    const Tensor mat2 = stack_as_cublas_takes(a);
    a.context().cublas.use(a.context());
  }
  set_history(result, node);
  return result;
}

Tensor mm(const Tensor& a, const Tensor& b) {
  const auto make_backward = [&] {
    return [left = Saved(b.requires_grad() ? a : Tensor()),
            right = Saved(a.requires_grad() ? b : Tensor()), left_turned = is_column_major(a),
            right_turned = is_column_major(b)](Node& self, Gradients& grads) -> Gradients {
      const Tensor mat1 = left.unpack();
      const Tensor mat2 = right.unpack();
      Gradients result;
      if (self.wants(1)) result[1] = grad_of_right(grads[0], mat1, right_turned);
      if (self.wants(0)) result[0] = grad_of_left(grads[0], mat2, left_turned);
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
            right = Saved(a.requires_grad() ? b : Tensor()), left_turned = is_column_major(a),
            right_turned = is_column_major(b)](Node& self, Gradients& grads) -> Gradients {
      const Tensor mat1 = left.unpack();
      const Tensor mat2 = right.unpack();
      Gradients result;
      // "mat1", "mat2", "self"; the engine sums the bias's over the rows.
      if (self.wants(1)) result[1] = grad_of_left(grads[0], mat2, left_turned);
      if (self.wants(2)) result[2] = grad_of_right(grads[0], mat1, right_turned);
      if (self.wants(0)) result[0] = grads[0];
      return result;
    };
  };
  const Ref<Node> node = make_node(context, make_backward, bias, a, b);
  Tensor result = empty(context, {a.size(0), b.size(1)}, a.type());
  const Tensor right = as_cublas_takes(b);
  const Tensor left = as_cublas_takes(a);
  is_epilogue(context, bias, b, result) ? context.cublas.use_lt(context)
                                        : context.cublas.use(context);
  set_history(result, node);
  return result;
}

// aten/src/ATen/native/LinearAlgebra.cpp (_matmul_impl).
Tensor matmul(const Tensor& a_in, const Tensor& b_in) {
  const Tensor b = lower(b_in);
  const Tensor a = lower(a_in);
  if (a.rank() == 1 && b.rank() == 1) throw BadInput("a dot product is not predicted yet");
  if (a.rank() == 2 && b.rank() == 1) return mv(a, b);
  if (a.rank() == 1 && b.rank() == 2) return squeeze(mm(unsqueeze(a, 0), b), bit(0));
  if (a.rank() == 2 && b.rank() == 2) return mm(a, b);
  if (folds(a, b)) return folded(a, b);
  if (a.rank() == 1 || b.rank() == 1) throw BadInput("a stack by a vector is not predicted yet");
  // Of three dimensions and broadcast, it folds after all.
  if (a.rank() == 3 && b.rank() == 3 && a.size(0) != b.size(0)) {
    if (a.size(0) == 1 && a.requires_grad()) return matmul(squeeze(a, bit(0)), b);
    if (b.size(0) == 1 && b.requires_grad()) return matmul(a, squeeze(b, bit(0)));
  }
  Dims sizes = broadcast(batch_sizes(a), batch_sizes(b));
  const Tensor left = stack(a, sizes);
  const Tensor right = stack(b, sizes);
  const Tensor result = bmm(left, right);
  sizes.push_back(a.size(-2));
  sizes.push_back(b.size(-1));
  return unsafe_view(result, sizes);
}

// aten/src/ATen/native/Linear.cpp: one addmm with a bias (_flatten_nd_linear), otherwise a matmul.
Tensor linear(const Tensor& x_in, const Tensor& weight_in, const Tensor& bias_in) {
  const Tensor bias = lower(bias_in);
  const Tensor weight = lower(weight_in);
  const Tensor x = lower(x_in);
  if (!bias.defined()) return matmul(x, t(weight));
  if (x.rank() == 2) return addmm(bias, x, t(weight));
  if (!x.is_contiguous()) {
    const Tensor result = matmul(x, t(weight));
    add_(result, bias);
    return result;
  }
  const Tensor result = addmm(bias, reshape(x, flat(x)), t(weight));
  return reshape(result, x.sizes().with(-1, weight.size(0)));
}

Tensor baddbmm(const Tensor& c_in, const Tensor& a_in, const Tensor& b_in, bool scaled) {
  const Tensor b = lower(b_in);
  const Tensor a = lower(a_in);
  const Tensor c = lower(c_in);
  const auto make_backward = [&] {
    return [left = Saved(b.requires_grad() ? a : Tensor()),
            right = Saved(a.requires_grad() ? b : Tensor()),
            scaled](Node& self, Gradients& grads) -> Gradients {
      const Tensor batch1 = left.unpack();
      const Tensor batch2 = right.unpack();
      const auto maybe_multiplied = [scaled](Tensor own) { return scaled ? like(own) : own; };
      Gradients result;
      if (self.wants(1)) result[1] = maybe_multiplied(bmm(grads[0], transpose(batch2, 1, 2)));
      if (self.wants(2)) result[2] = maybe_multiplied(bmm(transpose(batch1, 1, 2), grads[0]));
      if (self.wants(0)) result[0] = grads[0];
      return result;
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, c, a, b);
  Tensor result = empty(a.context(), {a.size(0), a.size(1), b.size(2)}, a.type());
  const Tensor mat1 = stack_as_cublas_takes(b);
  const Tensor mat2 = stack_as_cublas_takes(a);
  a.context().cublas.use(a.context());
  set_history(result, node);
  return result;
}

}  // namespace vramfit::pytorch
