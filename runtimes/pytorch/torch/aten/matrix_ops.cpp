#include "model/errors.h"
#include "runtimes/pytorch/torch/aten/ops.h"
#include "runtimes/pytorch/torch/ops/cast.h"
#include "runtimes/pytorch/torch/ops/convolution.h"
#include "runtimes/pytorch/torch/ops/grouped_mm.h"
#include "runtimes/pytorch/torch/ops/linear.h"
#include "runtimes/pytorch/torch/ops/solve.h"

namespace vramfit::pytorch::aten {
namespace {

Results linear_op(const Call& call) {
  return {linear(call.tensor(0), call.tensor(1), call.tensor(2))};
}

Results matmul_op(const Call& call) { return {matmul(call.tensor(0), call.tensor(1))}; }

Results bmm_op(const Call& call) {
  const Tensor b = lower(call.tensor(1));
  return {bmm(lower(call.tensor(0)), b)};
}

/// (self, mat1, mat2, beta, alpha)
void require_unscaled(const Call& call, std::size_t i) {
  if (call.real(i, 1) != 1) {
    throw BadInput("a product that is scaled as it is added is not predicted yet");
  }
}

Results addmm_op(const Call& call) {
  require_unscaled(call, 3);
  require_unscaled(call, 4);
  return {addmm(call.tensor(0), call.tensor(1), call.tensor(2))};
}

Results baddbmm_op(const Call& call) {
  require_unscaled(call, 3);
  return {baddbmm(call.tensor(0), call.tensor(1), call.tensor(2), call.real(4, 1) != 1)};
}

Results grouped(const Call& call) {
  return {grouped_mm(call.tensor(0), call.tensor(1), call.tensor(2))};
}

/// (input, weight, bias, stride, padding, dilation, groups)
Results conv1d_op(const Call& call) {
  ConvolutionOptions options;
  const auto first = [&](std::size_t i, std::int64_t otherwise) {
    const Dims dims = call.dims(i);
    return dims.rank() > 0 ? dims[0] : otherwise;
  };
  options.stride = first(3, 1);
  options.padding = first(4, 0);
  options.dilation = first(5, 1);
  options.groups = call.integer(6, 1);
  return {conv1d(call.tensor(0), call.tensor(1), call.tensor(2), options)};
}

/// (a, b, upper, left, unitriangular)
Results solve_triangular_op(const Call& call) {
  return {solve_triangular(call.tensor(0), call.tensor(1), call.flag(3, true))};
}

constexpr NamedOp kMatrixOps[] = {
    {"linear", linear_op},   {"matmul", matmul_op},
    {"bmm", bmm_op},         {"addmm", addmm_op},
    {"baddbmm", baddbmm_op}, {"_grouped_mm", grouped},
    {"conv1d", conv1d_op},   {"linalg_solve_triangular", solve_triangular_op},
};

}  // namespace

std::span<const NamedOp> matrix_ops() { return kMatrixOps; }

}  // namespace vramfit::pytorch::aten
