#include "runtimes/pytorch/torch/aten/ops.h"
#include "runtimes/pytorch/torch/ops/grouped_mm.h"
#include "runtimes/pytorch/torch/ops/linear.h"

namespace vramfit::pytorch::aten {
namespace {

Results linear_op(const Call& call) {
  return {linear(call.tensor(0), call.tensor(1), call.tensor(2))};
}

Results matmul_op(const Call& call) { return {matmul(call.tensor(0), call.tensor(1))}; }

Results grouped(const Call& call) {
  return {grouped_mm(call.tensor(0), call.tensor(1), call.tensor(2))};
}

constexpr NamedOp kMatrixOps[] = {
    {"linear.default", linear_op},
    {"matmul.default", matmul_op},
    {"_grouped_mm.default", grouped},
};

}  // namespace

std::span<const NamedOp> matrix_ops() { return kMatrixOps; }

}  // namespace vramfit::pytorch::aten
