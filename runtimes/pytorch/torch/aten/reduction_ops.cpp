#include "model/errors.h"
#include "runtimes/pytorch/torch/aten/ops.h"
#include "runtimes/pytorch/torch/ops/cast.h"
#include "runtimes/pytorch/torch/ops/cat.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/reduction.h"
#include "runtimes/pytorch/torch/ops/scan.h"
#include "runtimes/pytorch/torch/ops/sort.h"
#include "runtimes/pytorch/torch/ops/view.h"

namespace vramfit::pytorch::aten {
namespace {

/// Of a list of dimensions, or of one; none are all.
DimMask mask_of(const Call& call, std::size_t i, const Tensor& a) {
  const Dims dims = call.dims(i);
  if (dims.rank() == 0) return all_dims(a.rank());
  DimMask mask = 0;
  for (int at = 0; at < dims.rank(); ++at) {
    mask |= bit(static_cast<int>(dims[at] < 0 ? dims[at] + a.rank() : dims[at]));
  }
  return mask;
}

/// Ops that autocast has give fp32, where no type is named.
std::optional<ScalarType> type_under_autocast(const Call& call, std::size_t i, const Tensor& a) {
  if (!call.type(i) && call.context.autocast.enabled() && is_floating(a.type())) {
    return ScalarType::Float;
  }
  return call.type(i);
}

/// (self, dims, keepdim, dtype)
Results mean_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return {mean(a, mask_of(call, 1, a), call.flag(2), call.type(3))};
}

/// (self, dtype)
Results mean_of_all(const Call& call) {
  const Tensor a = call.tensor(0);
  return {mean(a, all_dims(a.rank()), false, call.type(1))};
}

Results sum_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return {sum(a, mask_of(call, 1, a), call.flag(2), type_under_autocast(call, 3, a))};
}

/// (self, dtype)
Results sum_of_all(const Call& call) {
  const Tensor a = call.tensor(0);
  return {sum(a, all_dims(a.rank()), false, type_under_autocast(call, 1, a))};
}

/// (self, dims, unbiased, keepdim)
Results std_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return {standard_deviation(a, mask_of(call, 1, a), call.flag(3))};
}

Results any_of_all(const Call& call) {
  const Tensor a = call.tensor(0);
  return {any(a, all_dims(a.rank()), false)};
}

/// (self, dim, keepdim)
Results any_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return {any(a, bit(call.dim(1, a.rank())), call.flag(2))};
}

Results extreme_of_all(const Call& call) { return {extreme(call.tensor(0))}; }

Results extremes_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return extremes(a, call.dim(1, a.rank()), call.flag(2));
}

/// (self, dim, keepdim)
Results argmax_op(const Call& call) {
  const Tensor a = call.tensor(0);
  if (call.has(1)) return {argmax(a, call.dim(1, a.rank()), call.flag(2))};
  return {argmax(a)};
}

Results logsumexp_op(const Call& call) {
  const Tensor a = upper(call.tensor(0));
  return {logsumexp(a, mask_of(call, 1, a), call.flag(2))};
}

/// (self, ord, dims, keepdim, dtype)
Results norm_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return {vector_norm(a, mask_of(call, 2, a), call.flag(3), type_under_autocast(call, 4, a))};
}

/// (elements, test_elements)
Results isin_op(const Call& call) { return {isin(call.tensor(0), call.tensor(1).numel())}; }

/// It is read on the host.
Results read_op(const Call&) { return {Tensor()}; }

/// (self, dim, dtype)
Results cumsum_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return {cumsum(a, call.dim(1, a.rank()), type_under_autocast(call, 2, a))};
}

/// (self, n, dim, prepend): torch.diff.
Results diff_op(const Call& call) {
  const Tensor a = call.tensor(0);
  if (call.integer(1, 1) != 1 || call.has(4) || a.requires_grad()) {
    throw BadInput(
        "torch.diff other than of first order and of whole numbers is not predicted yet");
  }
  const int dim = call.dim(2, a.rank(), -1);
  const Tensor whole = call.is_tensor(3) ? cat(call.tensor(3), a, dim) : a;
  const Tensor part = slice(whole, dim, whole.size(dim) - 1);
  return {empty_for({&part, &part}, a.type())};
}

/// (self, k, dim, largest, sorted)
Results topk_op(const Call& call) {
  const Tensor a = call.tensor(0);
  const int dim = call.dim(2, a.rank(), -1);
  if (call.integer(1) > a.size(dim)) {
    throw BadInput(std::to_string(call.integer(1)) + " of " + std::to_string(a.size(dim)) +
                   "; no more than there are");
  }
  return topk(a, call.integer(1), dim, call.flag(4, true));
}

Results sort_op(const Call& call) {
  const Tensor a = call.tensor(0);
  return sort(a, call.dim(1, a.rank(), -1));
}

Results argsort_op(const Call& call) { return {sort_op(call)[1]}; }

/// (self, bins, min, max)
Results histc_op(const Call& call) {
  return {empty(call.context, {call.integer(1)}, call.tensor(0).type(), Category::Activations)};
}

constexpr NamedOp kReductionOps[] = {
    {"mean", mean_of_all},
    {"mean.dim", mean_op},
    {"std.dim", std_op},
    {"sum", sum_of_all},
    {"sum.dim_IntList", sum_op},
    {"all", any_of_all},
    {"all.dim", any_op},
    {"any", any_of_all},
    {"any.dim", any_op},
    {"_is_all_true", any_of_all},
    {"max", extreme_of_all},
    {"max.dim", extremes_op},
    {"min.dim", extremes_op},
    {"argmax", argmax_op},
    {"logsumexp", logsumexp_op},
    {"linalg_vector_norm", norm_op},
    {"isin.Tensor_Tensor", isin_op},
    {"is_nonzero", read_op},
    {"item", read_op},
    {"_has_compatible_shallow_copy_type", read_op},
    {"cumsum", cumsum_op},
    {"diff", diff_op},
    {"topk", topk_op},
    {"sort", sort_op},
    {"argsort", argsort_op},
    {"histc", histc_op},
};

}  // namespace

std::span<const NamedOp> reduction_ops() { return kReductionOps; }

}  // namespace vramfit::pytorch::aten
