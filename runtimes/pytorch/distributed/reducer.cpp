#include "runtimes/pytorch/distributed/reducer.h"

#include <limits>

#include "runtimes/pytorch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kFirstBucketBytes = kMiB;  // dist._DEFAULT_FIRST_BUCKET_BYTES
constexpr std::uint64_t kBucketBytes = 25 * kMiB;

/// In the order of memory that `parameter` has, as a gradient is laid out.
Tensor view_of(const Tensor& bucket, const Tensor& parameter) {
  return as_strided(bucket, parameter.sizes(), parameter.strides());
}

}  // namespace

Reducer::Reducer(Context& context, const std::vector<Tensor>& parameters,
                 const Distributed& options)
    : context_(context), options_(options), parameters_(parameters.size()) {
  // Without find_unused_parameters nothing is known about the order before the first backward.
  initialize_buckets(assign_buckets(parameters, {std::numeric_limits<std::uint64_t>::max()}));
  context_.after_accumulate = [this](TensorImpl& leaf) { gradient_is_ready(leaf); };
}

Reducer::~Reducer() { context_.after_accumulate = nullptr; }

void Reducer::initialize_buckets(const std::vector<Bucket>& buckets) {
  views_.clear();
  gradients_.clear();
  const Category category = options_.bucket_view ? Category::Gradients : Category::Communication;
  for (const Bucket& bucket : buckets) {
    gradients_.push_back(empty(context_, {numel(bucket)}, bucket.front().type(), category));
    if (!options_.bucket_view) continue;
    for (const Tensor& parameter : bucket) {
      views_.emplace(parameter.impl(), view_of(gradients_.back(), parameter));
    }
  }
}

void Reducer::rebuild_buckets() {
  std::vector<std::uint64_t> limits = {kFirstBucketBytes, kBucketBytes};
  if (options_.bucket_cap_mb) limits = {static_cast<std::uint64_t>(*options_.bucket_cap_mb) * kMiB};
  initialize_buckets(assign_buckets(ready_, limits));
}

// autograd_hook, mark_variable_ready_dense.
void Reducer::gradient_is_ready(TensorImpl& leaf) {
  if (ready_.size() < parameters_) ready_.emplace_back(Ref<TensorImpl>(&leaf));
  if (options_.bucket_view) leaf.grad = views_.at(&leaf).ref();
}

}  // namespace vramfit::pytorch
