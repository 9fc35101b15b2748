#include "runtimes/pytorch/torch/distributed/reducer.h"

#include <limits>

#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

constexpr std::uint64_t kBucketUnit = std::uint64_t{1} << 20;
constexpr std::uint64_t kFirstBucketBytes = kBucketUnit;  // dist._DEFAULT_FIRST_BUCKET_BYTES
constexpr std::uint64_t kBucketBytes = 25 * kBucketUnit;

/// Who wins the race against the watchdog. `growth`: by how much the first update needs more than
/// the most that the step needed before, which is about what it takes from the driver. Measured,
/// without gradient accumulation: ZeRO-1 does with none (1.1B of 4 x
/// 1024, 7B of 4 x 2048 tokens), not with 9 and 26 GB (7B and 13B of 1 x 2048), whose cudaMalloc
/// takes the watchdog's 100 ms; DDP does in short steps now and then, and is taken not to
/// (data/reference/ddp_watchdog.json).
bool outruns_watchdog(DistributedStrategy strategy, std::uint64_t growth) {
  constexpr std::uint64_t kMappedMeanwhile = 4'000'000'000;
  return strategy == DistributedStrategy::Zero1 && growth < kMappedMeanwhile;
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
  const std::uint64_t growth = context_.tape.peak() - peak_of_backward_;
  if (options_.keeps_first_bucket || outruns_watchdog(options_.strategy, growth)) {
    stashed_ = gradients_;
  }
  std::vector<std::uint64_t> limits = {kFirstBucketBytes, kBucketBytes};
  if (options_.bucket_cap_mb)
    limits = {static_cast<std::uint64_t>(*options_.bucket_cap_mb) * kBucketUnit};
  initialize_buckets(assign_buckets(ready_, limits, BucketOrder::Filled));
}

// autograd_hook, mark_variable_ready_dense.
void Reducer::gradient_is_ready(TensorImpl& leaf) {
  if (rebuilt_) stashed_.clear();
  peak_of_backward_ = context_.tape.peak();
  // Leaves that are no parameters, as a checkpoint's input, have no place here.
  if (waited_for_.erase(&leaf) > 0) ready_.emplace_back(Ref<TensorImpl>(&leaf));
  if (const auto view = views_.find(&leaf); view != views_.end()) leaf.grad = view->second.ref();
}

}  // namespace vramfit::pytorch
