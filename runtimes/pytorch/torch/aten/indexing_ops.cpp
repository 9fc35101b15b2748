#include "model/errors.h"
#include "runtimes/pytorch/torch/aten/ops.h"
#include "runtimes/pytorch/torch/ops/gather.h"
#include "runtimes/pytorch/torch/ops/index.h"

namespace vramfit::pytorch::aten {
namespace {

Results index_op(const Call& call) { return {index(call.tensor(0), call.tensors(1))}; }

/// (self, indices, values, accumulate)
Results index_put_op(const Call& call) {
  const Tensor a = call.tensor(0);
  index_put_(a, call.tensors(1), call.tensor(2), call.flag(3));
  return {a};
}

/// (self, dim, index)
Results gather_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return {gather(a, call.dim(1, a.rank()), call.tensor(2))};
}

Results index_select_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return {index_select(a, call.dim(1, a.rank()), call.tensor(2))};
}

/// (self, dim, index, source): what an op makes of them, or changes.
template <Tensor (*kOp)(const Tensor&, int, const Tensor&, const Tensor&)>
Results made_of(const Call& call) {
  const Tensor a = call.tensor(0);
  return {kOp(a, call.dim(1, a.rank()), call.tensor(2), call.tensor(3))};
}

template <void (*kOp)(const Tensor&, int, const Tensor&, const Tensor&)>
Results changed_by(const Call& call) {
  const Tensor a = call.tensor(0);
  kOp(a, call.dim(1, a.rank()), call.tensor(2), call.tensor(3));
  return {a};
}

constexpr NamedOp kIndexingOps[] = {
    {"index.Tensor", index_op},
    {"index_put_", index_put_op},
    {"gather", gather_op},
    {"scatter.value", made_of<scatter>},
    {"scatter.src", made_of<scatter>},
    {"scatter_.value", changed_by<scatter_>},
    {"scatter_.src", changed_by<scatter_>},
    {"scatter_add_", changed_by<scatter_add_>},
    {"index_select", index_select_op},
    {"index_add", made_of<index_add>},
    {"index_add_", changed_by<index_add_>},
    {"index_copy_", changed_by<index_copy_>},
};

}  // namespace

std::span<const NamedOp> indexing_ops() { return kIndexingOps; }

}  // namespace vramfit::pytorch::aten
