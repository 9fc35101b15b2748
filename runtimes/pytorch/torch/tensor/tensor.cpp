#include "runtimes/pytorch/torch/tensor/tensor.h"

#include <algorithm>
#include <numeric>

#include "model/checked.h"
#include "model/errors.h"
#include "runtimes/pytorch/torch/tensor/context.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {

void refuse_none() { throw BadInput("a tensor is wanted where there is none"); }

Dims::Dims(std::initializer_list<std::int64_t> values) : rank_(static_cast<int>(values.size())) {
  std::copy(values.begin(), values.end(), values_.begin());
}

void Dims::refuse() { throw BadInput("a tensor of more than six dimensions is not predicted yet"); }

Dims Dims::with(int dim, std::int64_t value) const {
  Dims result = *this;
  result[dim] = value;
  return result;
}

std::int64_t Dims::product() const {
  std::int64_t result = 1;
  for (int i = 0; i < rank_; ++i) {
    result = checked_multiply(result, values_[static_cast<std::size_t>(i)]);
  }
  return result;
}

Dims contiguous_strides(const Dims& sizes) {
  Dims strides = sizes;
  std::int64_t stride = 1;
  for (int i = sizes.rank() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride = checked_multiply(stride, std::max<std::int64_t>(sizes[i], 1));
  }
  return strides;
}

Storage::Storage(Context& c, Category k, std::uint64_t size)
    : category(k), context(c), bytes(size) {
  if (size > 0) origin = c.tape.allocate(k, size);
}
Storage::~Storage() {
  if (origin) context.tape.free(*origin, category, bytes);
}

void Storage::relabel(Category to) {
  if (!origin) return;
  context.tape.relabel(*origin, category, to, bytes);
  category = to;
}

void Storage::free_memory() {
  context.tape.free(*origin, category, bytes);
  origin.reset();
}

void Storage::allocate_memory(std::uint64_t size) {
  bytes = size;
  origin = context.tape.allocate(category, size);
}

TensorImpl::TensorImpl(Ref<Storage> memory, const Dims& size, const Dims& stride, ScalarType t)
    : type(t), storage(std::move(memory)), sizes(size), strides(stride) {}
TensorImpl::~TensorImpl() = default;

bool Tensor::is_contiguous() const {
  std::int64_t expected = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (size(i) == 1) continue;
    if (strides()[i] != expected) return false;
    expected *= size(i);
  }
  return true;
}

bool Tensor::is_non_overlapping_and_dense() const {
  std::array<int, Dims::kMax> order{};
  const auto end = order.begin() + rank();
  std::iota(order.begin(), end, 0);
  for (int i = 1; i < rank(); ++i) {  // by insertion: few, and mostly in order
    for (auto at = order.begin() + i; at != order.begin() && strides()[*at] < strides()[*(at - 1)];
         --at) {
      std::swap(*at, *(at - 1));
    }
  }
  std::int64_t expected = 1;
  for (auto i = order.begin(); i != end; ++i) {
    if (size(*i) == 1) continue;
    if (strides()[*i] != expected) return false;
    expected *= size(*i);
  }
  return true;
}

Tensor Tensor::detach() const { return as_strided(*this, sizes(), strides()); }

Tensor empty_strided(Context& context, const Dims& sizes, const Dims& strides, ScalarType type,
                     Category category) {
  if (context.elsewhere) {
    Ref<Storage> storage(new Storage(context));
    return Tensor(Ref<TensorImpl>(new TensorImpl(std::move(storage), sizes, strides, type)));
  }
  const auto bytes =
      static_cast<std::uint64_t>(checked_multiply(sizes.product(), element_size(type)));
  Ref<Storage> storage(new Storage(context, category, bytes));
  return Tensor(Ref<TensorImpl>(new TensorImpl(std::move(storage), sizes, strides, type)));
}

Tensor empty(Context& context, const Dims& sizes, ScalarType type, Category category) {
  return empty_strided(context, sizes, contiguous_strides(sizes), type, category);
}

Tensor empty_meta(Context& context, const Dims& sizes, ScalarType type) {
  Ref<Storage> storage(new Storage(context));
  return Tensor(
      Ref<TensorImpl>(new TensorImpl(std::move(storage), sizes, contiguous_strides(sizes), type)));
}

Tensor as_strided(const Tensor& base, const Dims& sizes, const Dims& strides) {
  return Tensor(Ref<TensorImpl>(new TensorImpl(base.impl()->storage, sizes, strides, base.type())));
}

}  // namespace vramfit::pytorch
