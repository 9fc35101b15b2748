#include "runtimes/pytorch/torch/ops/index.h"

#include <algorithm>
#include <vector>

#include "model/errors.h"
#include "runtimes/pytorch/torch/ops/cub.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/reduction.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

/// How a tensor is indexed: aten/src/ATen/native/IndexingUtils.h, TensorAdvancedIndexing.cpp
/// (AdvancedIndex).
struct Indexed {
  Dims places;              ///< what the indices broadcast to
  Dims sizes;               ///< of the result
  Dims strides;             ///< of the tensor as the result walks it; 0 where an index does
  std::int64_t before = 1;  ///< elements of the dimensions before those that are indexed
  std::int64_t after = 1;   ///< and behind them
  std::int64_t rows = 1;    ///< of those that are indexed, and before
  bool moved = false;       ///< indexed dimensions are apart, and come to the front
};

Indexed indexed(const Tensor& a, std::span<const Tensor> indices) {
  Indexed result;
  int first = -1;
  int last = -1;
  int count = 0;
  bool any = false;
  for (int i = 0; i < static_cast<int>(indices.size()); ++i) {
    const Tensor& each = indices[static_cast<std::size_t>(i)];
    if (!each.defined()) continue;
    if (each.type() == ScalarType::Bool || each.type() == ScalarType::Byte) {
      throw BadInput("an index by a mask is not predicted: how much it takes lies in its values");
    }
    result.places = any ? broadcast(result.places, each.sizes()) : each.sizes();
    any = true;
    if (first < 0) first = i;
    last = i;
    ++count;
  }
  result.moved = count != last - first + 1;
  const auto is_indexed = [&](int dim) {
    const auto i = static_cast<std::size_t>(dim);
    return i < indices.size() && indices[i].defined();
  };
  const auto put_places = [&] {
    for (int i = 0; i < result.places.rank(); ++i) {
      result.sizes.push_back(result.places[i]);
      result.strides.push_back(0);
    }
  };
  if (result.moved) put_places();
  for (int dim = 0; dim < a.rank(); ++dim) {
    if (!result.moved && dim == first) put_places();
    if (is_indexed(dim)) {
      result.rows *= a.size(dim);
      continue;
    }
    result.sizes.push_back(a.size(dim));
    result.strides.push_back(a.strides()[dim]);
    (!result.moved && dim < first ? result.before : result.after) *= a.size(dim);
  }
  result.rows *= result.before;
  return result;
}

/// transposeToFront
Tensor indexed_first(const Tensor& a, std::span<const Tensor> indices) {
  Dims order;
  for (const bool wanted : {true, false}) {
    for (int dim = 0; dim < a.rank(); ++dim) {
      const auto i = static_cast<std::size_t>(dim);
      if ((i < indices.size() && indices[i].defined()) == wanted) order.push_back(dim);
    }
  }
  return permute(a.detach(), order);
}

/// An index's largest and smallest, each compared with what there is.
void check_bounds(const Tensor& each) {
  Context& context = each.context();
  const auto compare = [&] {
    const Tensor is_within = empty(context, {}, ScalarType::Bool, Category::Workspace);
  };
  if (context.release.rules.extremes_together) {
    const Tensor largest = extreme(each);
    const Tensor smallest = extreme(each);
    compare();
    compare();
    return;
  }
  for (int end = 0; end < 2; ++end) {
    const Tensor most = extreme(each);
    compare();
  }
}

Tensor longs(Context& context, std::int64_t count) {
  return empty(context, {count}, ScalarType::Long, Category::Workspace);
}

/// computeLinearIndex: each index wrapped, then scaled by its stride.
Tensor linear_index(std::span<const Tensor> indices, std::int64_t count, bool checked) {
  Tensor linear;
  for (const Tensor& each : indices) {
    if (!each.defined()) continue;
    if (checked) check_bounds(each);
    const Tensor wrapped = longs(each.context(), count);
    const Tensor scaled = longs(each.context(), count);
    if (!linear.defined()) linear = scaled;
  }
  return linear;
}

/// aten/src/ATen/native/cuda/Indexing.cu (index_put_with_sort_kernel), PyTorch 2.11: sorting lets
/// what goes to one place meet. The linear index is there already.
void put_sorted(const Tensor& whole, const Indexed& how, std::span<const Tensor> indices,
                const Tensor& values) {
  Context& context = whole.context();
  const std::int64_t count = how.places.product();
  if (count == 0 || how.after == 0) return;
  const Tensor expanded = contiguous(values);
  const Tensor source = how.moved ? contiguous(indexed_first(whole, indices)) : Tensor();
  const Tensor sorted = longs(context, count);
  const Tensor original = longs(context, count);
  const Tensor range = longs(context, count);
  sort_workspace(context, count, 8, bits_of((whole.numel() - 1) / how.after));
}

void put_sorted(const Tensor& whole, std::span<const Tensor> indices, const Tensor& values,
                bool checked) {
  const Indexed how = indexed(whole, indices);
  const Tensor linear = linear_index(indices, how.places.product(), checked);
  put_sorted(whole, how, indices, values);
}

/// Gradients of nothing but their places: zeros of the whole, added to.
Tensor index_backward(const Tensor& grad, const Dims& sizes, std::span<const Tensor> indices) {
  Tensor result = empty(grad.context(), sizes, grad.type());
  put_sorted(result, indices, grad, false);
  return result;
}

std::vector<Saved> all_saved(std::span<const Tensor> tensors) {
  std::vector<Saved> saved;
  for (const Tensor& each : tensors) saved.emplace_back(each);
  return saved;
}

std::vector<Tensor> all_unpacked(const std::vector<Saved>& saved) {
  std::vector<Tensor> tensors;
  for (const Saved& each : saved) tensors.push_back(each.unpack());
  return tensors;
}

Tensor gathered(const Tensor& a, std::span<const Tensor> indices) {
  const Indexed how = indexed(a, indices);
  // The kernel wants all indices to lie alike.
  std::vector<Tensor> expanded;
  for (const Tensor& each : indices) {
    if (each.defined()) expanded.push_back(expand(each, how.places));
  }
  const bool alike = std::all_of(expanded.begin(), expanded.end(), [&](const Tensor& each) {
    return each.strides() == expanded.front().strides();
  });
  std::vector<Tensor> copies;
  for (const Tensor& each : expanded) copies.push_back(alike ? each : contiguous(each));
  const Tensor source = as_strided(a, how.sizes, how.strides);
  return empty_for({&source}, a.type());
}

/// torch.nonzero of a mask that is true everywhere, a tensor a dimension:
/// aten/src/ATen/native/cuda/Nonzero.cu.
std::vector<Tensor> places_of(const Tensor& mask) {
  Context& context = mask.context();
  const std::int64_t count = mask.numel();
  const Tensor counted = empty(context, {1}, ScalarType::Int, Category::Workspace);
  count_workspace(context, count);
  const Tensor places = empty(context, {mask.rank(), count}, ScalarType::Long, Category::Workspace);
  select_workspace(context, count);
  return std::vector<Tensor>(static_cast<std::size_t>(mask.rank()),
                             as_strided(places, {count}, {1}));
}

Tensor where_backward(const Tensor& grad, const Dims& sizes, const Tensor& mask) {
  const Tensor result = empty(grad.context(), sizes, grad.type());
  Tensor linear;
  Indexed how;
  {
    const std::vector<Tensor> places = places_of(mask);
    how = indexed(result, places);
    linear = linear_index(places, how.places.product(), false);
  }
  put_sorted(result, how, {}, grad);
  return result;
}

}  // namespace

Tensor index_where(const Tensor& a, const Tensor& mask) {
  const auto make_backward = [&] {
    return [saved = Saved(mask), from = a.sizes()](Node&, Gradients& grads) -> Gradients {
      return {where_backward(grads[0], from, saved.unpack())};
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Tensor result = gathered(a, places_of(mask));
  set_history(result, node);
  return result;
}

// masked_scatter_ counts what is true before each place.
Tensor masked_scatter(const Tensor& a, const Tensor& mask, const Tensor& source) {
  Context& context = a.context();
  const auto make_backward = [&] {
    return [saved = Saved(mask)](Node& self, Gradients& grads) -> Gradients {
      Gradients result;
      if (self.wants(0)) result[0] = like(grads[0]);
      // masked_scatter_backward: grad.masked_select(mask)
      if (self.wants(1)) result[1] = gathered(grads[0], places_of(saved.unpack()));
      return result;
    };
  };
  const Ref<Node> node = make_node(context, make_backward, a, source);
  Tensor result = like(a);
  {
    const Tensor before = longs(context, mask.numel());
    scan_workspace(context, mask.numel(), ScalarType::Long);
  }
  set_history(result, node);
  return result;
}

Tensor index(const Tensor& a, std::span<const Tensor> indices) {
  const auto make_backward = [&] {
    return [saved = all_saved(indices), from = a.sizes()](Node&, Gradients& grads) -> Gradients {
      const std::vector<Tensor> places = all_unpacked(saved);
      return {index_backward(grads[0], from, places)};
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Tensor result = gathered(a, indices);
  set_history(result, node);
  return result;
}

void index_put_(const Tensor& a, std::span<const Tensor> indices, const Tensor& values,
                bool accumulate) {
  const auto make_backward = [&] {
    return [saved = all_saved(indices), given = values.sizes(), type = values.type(), accumulate](
               Node& self, Gradients& grads) -> Gradients {
      const std::vector<Tensor> places = all_unpacked(saved);
      Gradients result;
      // grad.index_put(indices, zeros), then grad.index(indices).
      if (self.wants(0)) {
        if (accumulate) {
          result[0] = grads[0];
        } else {
          const Tensor zeros = empty(grads[0].context(), given, type);
          result[0] = like(grads[0]);
        }
      }
      if (self.wants(1)) result[1] = gathered(grads[0], places);
      return result;
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a, values);
  if (accumulate) put_sorted(a, indices, values, true);
  rebase_history(a, node);
}

}  // namespace vramfit::pytorch
