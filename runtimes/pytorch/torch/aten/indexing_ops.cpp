#include "runtimes/pytorch/torch/aten/ops.h"
#include "runtimes/pytorch/torch/ops/index.h"

namespace vramfit::pytorch::aten {
namespace {

Results index_op(const Call& call) { return {index(call.tensor(0), call.tensors(1))}; }

/// (self, indices, values): of tensors that nobody wants a gradient of.
Results index_put_op(const Call& call) { return {call.tensor(0)}; }

constexpr NamedOp kIndexingOps[] = {
    {"index.Tensor", index_op},
    {"index_put_.default", index_put_op},
};

}  // namespace

std::span<const NamedOp> indexing_ops() { return kIndexingOps; }

}  // namespace vramfit::pytorch::aten
