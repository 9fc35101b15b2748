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

/// aten/src/ATen/native/cuda/Indexing.cu (index_put_with_sort_kernel), PyTorch 2.11: sorting lets
/// what goes to one place meet.
void put_sorted(const Tensor& whole, std::span<const Tensor> indices, const Tensor& values,
                bool checked) {
  Context& context = whole.context();
  const Indexed how = indexed(whole, indices);
  const std::int64_t count = how.places.product();
  const auto longs = [&] { return empty(context, {count}, ScalarType::Long, Category::Workspace); };
  // computeLinearIndex: each index wrapped, then scaled by its stride.
  Tensor linear;
  for (const Tensor& each : indices) {
    if (!each.defined()) continue;
    if (checked) check_bounds(each);
    const Tensor wrapped = longs();
    const Tensor scaled = longs();
    if (!linear.defined()) linear = scaled;
  }
  if (count == 0 || how.after == 0) return;
  const Tensor expanded = contiguous(values);
  const Tensor source = how.moved ? contiguous(indexed_first(whole, indices)) : Tensor();
  const Tensor sorted = longs();
  const Tensor original = longs();
  const Tensor range = longs();
  sort_workspace(context, count, 8, bits_of((whole.numel() - 1) / how.after));
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

}  // namespace

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
