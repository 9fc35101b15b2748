#include "runtimes/pytorch/torch/aten/ops.h"
#include "runtimes/pytorch/torch/ops/reduction.h"
#include "runtimes/pytorch/torch/ops/scan.h"
#include "runtimes/pytorch/torch/ops/sort.h"
#include "runtimes/pytorch/torch/ops/view.h"

namespace vramfit::pytorch::aten {
namespace {

/// (self, dims, keepdim)
Results mean_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return {mean(a, call.only_dim(1, a.rank()), call.flag(2))};
}

/// (self, dims, keepdim)
Results sum_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return {sum(a, call.only_dim(1, a.rank()), call.flag(2))};
}

Results all_op(const Call& call) {
  return {empty(call.context, {}, ScalarType::Bool, Category::Inputs)};
}

/// It is read on the host.
Results read_op(const Call&) { return {Tensor()}; }

Results cumsum_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return {cumsum(a, call.dim(1, a.rank()), call.type(2))};
}

/// (self, n, dim, prepend): torch.diff.
Results diff_op(const Call& call) {
  const Tensor a = call.tensor(0);
  const int dim = call.dim(2, a.rank(), -1);
  Tensor whole = a;
  if (call.is_tensor(3)) whole = cat({{call.tensor(3), a}}, dim);
  return {empty(call.context, whole.sizes().with(dim, whole.size(dim) - 1), a.type(),
                Category::Inputs)};
}

Results topk_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return topk(a, call.integer(1), call.dim(2, a.rank(), -1));
}

Results sort_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return sort(a, call.dim(1, a.rank(), -1));
}

Results histc_op(const Call& call) {
  return {empty(call.context, {call.integer(1)}, call.tensor(0).type(), Category::Activations)};
}

constexpr NamedOp kReductionOps[] = {
    {"mean.dim", mean_op},           {"sum.dim_IntList", sum_op},   {"all.default", all_op},
    {"is_nonzero.default", read_op}, {"cumsum.default", cumsum_op}, {"diff.default", diff_op},
    {"topk.default", topk_op},       {"sort.default", sort_op},     {"histc.default", histc_op},
};

}  // namespace

std::span<const NamedOp> reduction_ops() { return kReductionOps; }

}  // namespace vramfit::pytorch::aten
