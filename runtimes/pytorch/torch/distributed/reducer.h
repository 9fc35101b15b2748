#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtimes/pytorch/torch/distributed/bucket_assignment.h"
#include "runtimes/pytorch/torch/distributed/strategy.h"

namespace vramfit::pytorch {

/// Averages gradients over GPUs in buckets of flat memory: in the first step one for all of them;
/// from the second on as they become ready. A gradient is copied there and back, or becomes a view
/// of it (gradient_as_bucket_view).
///
/// What is being reduced stays with ProcessGroupNCCL until its watchdog, which looks every 100 ms,
/// has seen it complete and something else is communicated. Whether the first step's bucket has
/// gone by the time it is rebuilt is a race.
///
/// torch/csrc/distributed/c10d/reducer.cpp, PyTorch 2.11. Buckets are the caching allocator's: with
/// NVLink multicast they come from a pool of NCCL's instead (supportsTensorAlloc).
class Reducer {
 public:
  /// `parameters`: those that want a gradient, in the model's order.
  Reducer(Context& context, const std::vector<Tensor>& parameters, const Distributed& options);
  ~Reducer();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  /// Before each forward; does so once, after the first backward.
  void rebuild_buckets();

 private:
  void initialize_buckets(const std::vector<Bucket>& buckets);
  void gradient_is_ready(TensorImpl& leaf);

  Context& context_;
  const Distributed options_;
  std::unordered_set<const TensorImpl*> waited_for_;  ///< in the first step
  std::vector<Tensor> ready_;  ///< in the order in which the first step's gradients came
  bool rebuilt_ = false;
  std::vector<Tensor> gradients_;  ///< the buckets' memory
  std::vector<Tensor> stashed_;    ///< the first step's, while NCCL's watchdog keeps it
  std::uint64_t peak_of_backward_ = 0;
  /// Of each parameter, where it lies in the buckets; with gradient_as_bucket_view.
  std::unordered_map<const TensorImpl*, Tensor> views_;
};

}  // namespace vramfit::pytorch
