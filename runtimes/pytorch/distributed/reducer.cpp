#include "runtimes/pytorch/distributed/reducer.h"

#include <limits>

#include "runtimes/pytorch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

constexpr std::uint64_t kBucketUnit = std::uint64_t{1} << 20;
constexpr std::uint64_t kFirstBucketBytes = kBucketUnit;  // dist._DEFAULT_FIRST_BUCKET_BYTES
constexpr std::uint64_t kBucketBytes = 25 * kBucketUnit;

std::uint64_t bytes_of(const std::vector<Tensor>& buckets) {
  std::uint64_t sum = 0;
  for (const Tensor& bucket : buckets) sum += bucket.impl()->storage->bytes;
  return sum;
}

/// Who wins the race against the watchdog. Measured: ZeRO-1 with 2 GB of gradients, and neither
/// DDP with 2 GB nor with 13. All parameters are sent in between under ZeRO-1, which for many takes
/// longer than 100 ms.
bool outruns_watchdog(Strategy strategy, std::uint64_t bytes) {
  constexpr std::uint64_t kSentMeanwhile = 8'000'000'000;
  return strategy == Strategy::Zero1 && bytes < kSentMeanwhile;
}

/// In the order of memory that `parameter` has, as a gradient is laid out.
Tensor view_of(const Tensor& bucket, const Tensor& parameter) {
  return as_strided(bucket, parameter.sizes(), parameter.strides());
}

}  // namespace

Reducer::Reducer(Context& context, const std::vector<Tensor>& parameters,
                 const Distributed& options)
    : context_(context), options_(options) {
  // Without find_unused_parameters nothing is known about the order before the first backward.
  initialize_buckets(assign_buckets(parameters, {std::numeric_limits<std::uint64_t>::max()}));
  for (const Tensor& parameter : parameters) waited_for_.insert(parameter.impl());
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
  if (rebuilt_ || ready_.empty()) return;
  rebuilt_ = true;
  if (outruns_watchdog(options_.strategy, bytes_of(gradients_))) stashed_ = gradients_;
  std::vector<std::uint64_t> limits = {kFirstBucketBytes, kBucketBytes};
  if (options_.bucket_cap_mb)
    limits = {static_cast<std::uint64_t>(*options_.bucket_cap_mb) * kBucketUnit};
  initialize_buckets(assign_buckets(ready_, limits));
}

// autograd_hook, mark_variable_ready_dense.
void Reducer::gradient_is_ready(TensorImpl& leaf) {
  if (rebuilt_) stashed_.clear();
  // Leaves that are no parameters, as a checkpoint's input, have no place here.
  if (waited_for_.erase(&leaf) > 0) ready_.emplace_back(Ref<TensorImpl>(&leaf));
  if (const auto view = views_.find(&leaf); view != views_.end()) leaf.grad = view->second.ref();
}

}  // namespace vramfit::pytorch
