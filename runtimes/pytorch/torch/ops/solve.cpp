#include "runtimes/pytorch/torch/ops/solve.h"

#include <utility>

#include "model/errors.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/linear.h"
#include "runtimes/pytorch/torch/ops/pad.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

bool lies_in_rows_or_columns(const Tensor& a) {
  return a.is_contiguous() || transpose(a, a.rank() - 2, a.rank() - 1).is_contiguous();
}

/// The solution, column-major. aten/src/ATen/native/cuda/linalg/BatchLinearAlgebra.cpp
/// (triangular_solve_kernel): many or small ones in one call, which takes pointers to each.
Tensor solved(const Tensor& a, const Tensor& b) {
  constexpr std::int64_t kFew = 8;
  constexpr std::int64_t kLarge = 64;
  constexpr std::int64_t kLargest = 512;
  Context& context = a.context();
  if (!lies_in_rows_or_columns(a) || a.size(-1) > kLargest) {
    throw BadInput("solving matrices that are apart or of more than 512 is not predicted yet");
  }
  Dims sizes = broadcast(a.sizes().with(-1, 1).with(-2, 1), b.sizes().with(-1, 1).with(-2, 1));
  std::int64_t count = sizes.product();
  sizes[-2] = b.size(-2);
  sizes[-1] = b.size(-1);
  Dims strides = sizes;
  std::swap(strides[-1], strides[-2]);
  strides = contiguous_strides(strides);
  std::swap(strides[-1], strides[-2]);
  Tensor result = empty_strided(context, sizes, strides, b.type());
  const bool at_once = count > kFew || a.size(-1) < kLarge;
  const auto pointers = [&] {
    return at_once ? empty(context, {count}, ScalarType::Long, Category::Workspace) : Tensor();
  };
  const Tensor to_a = pointers();
  const Tensor to_b = pointers();
  context.cublas.use(context);
  return result;
}

}  // namespace

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool left) {
  Tensor result = solved(a, b);
  const auto make_backward = [&] {
    return [matrix = Saved(a), saved = Saved(result), left](Node& self,
                                                            Gradients& grads) -> Gradients {
      const Tensor own = matrix.unpack();
      const Tensor x = saved.unpack();
      const auto turned = [](const Tensor& each) {
        return transpose(each, each.rank() - 2, each.rank() - 1);
      };
      Gradients given;
      // linalg_solve_triangular_backward: of b always; of a the triangle of -(that x^H).
      const Tensor of_b = solved(turned(own), grads[0]);
      if (self.wants(0)) {
        Tensor product = left ? matmul(of_b, turned(x)) : matmul(turned(x), of_b);
        product = like(product);
        given[0] = triangle(product);
      }
      if (self.wants(1)) given[1] = of_b;
      return given;
    };
  };
  set_history(result, make_node(a.context(), make_backward, a, b));
  return result;
}

}  // namespace vramfit::pytorch
