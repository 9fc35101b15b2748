#include "runtimes/pytorch/torch/distributed/bucket_assignment.h"

#include <algorithm>
#include <utility>

namespace vramfit::pytorch {

std::vector<Bucket> assign_buckets(const std::vector<Tensor>& tensors,
                                   const std::vector<std::uint64_t>& limits, BucketOrder order) {
  struct Numbered {
    std::size_t first;  ///< tensor that is in it
    Bucket tensors;
  };
  struct Open {
    ScalarType type;
    std::size_t first = 0;
    Bucket tensors = {};
    std::uint64_t bytes = 0;
    std::size_t limit = 0;
  };
  std::vector<Numbered> buckets;
  std::vector<Open> open;  // one of each type
  const auto open_of = [&open](ScalarType type) -> Open& {
    const auto found = std::find_if(open.begin(), open.end(),
                                    [type](const Open& bucket) { return bucket.type == type; });
    return found != open.end() ? *found : open.emplace_back(Open{type});
  };
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    Open& bucket = open_of(tensor.type());
    if (bucket.tensors.empty()) bucket.first = i;
    bucket.tensors.push_back(tensor);
    bucket.bytes += static_cast<std::uint64_t>(tensor.numel() * element_size(tensor.type()));
    if (bucket.bytes < limits[bucket.limit]) continue;
    buckets.push_back({bucket.first, std::exchange(bucket.tensors, {})});
    bucket.bytes = 0;
    bucket.limit = std::min(bucket.limit + 1, limits.size() - 1);
  }
  for (Open& bucket : open) {
    if (!bucket.tensors.empty()) buckets.push_back({bucket.first, std::move(bucket.tensors)});
  }
  if (order == BucketOrder::FirstTensor) {
    std::sort(buckets.begin(), buckets.end(),
              [](const Numbered& a, const Numbered& b) { return a.first < b.first; });
  }
  std::vector<Bucket> all;
  for (Numbered& bucket : buckets) all.push_back(std::move(bucket.tensors));
  return all;
}

std::int64_t numel(const Bucket& bucket) {
  std::int64_t sum = 0;
  for (const Tensor& tensor : bucket) sum += tensor.numel();
  return sum;
}

}  // namespace vramfit::pytorch
