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

/// (self, mat1, mat2, beta, alpha): both 1.
template <Tensor (*kOp)(const Tensor&, const Tensor&, const Tensor&)>
Results added_product(const Call& call) {
  if (call.real(3, 1) != 1 || call.real(4, 1) != 1) {
    throw BadInput("a product that is scaled as it is added is not predicted yet");
  }
  return {kOp(call.tensor(0), call.tensor(1), call.tensor(2))};
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
    {"linear", linear_op},
    {"matmul", matmul_op},
    {"bmm", bmm_op},
    {"addmm", added_product<addmm>},
    {"baddbmm", added_product<baddbmm>},
    {"_grouped_mm", grouped},
    {"conv1d", conv1d_op},
    {"linalg_solve_triangular", solve_triangular_op},
};

}  // namespace

std::span<const NamedOp> matrix_ops() { return kMatrixOps; }

}  // namespace vramfit::pytorch::aten
