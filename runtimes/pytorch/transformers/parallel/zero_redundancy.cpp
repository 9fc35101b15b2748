#include "runtimes/pytorch/transformers/parallel/zero_redundancy.h"

#include <algorithm>

namespace vramfit::pytorch {
namespace {

struct Share {
  std::vector<Tensor> parameters;
  std::int64_t elements = 0;
};

bool fewer_elements(const Share& a, const Share& b) { return a.elements < b.elements; }

/// _partition_parameters: the largest first, each to who has the fewest elements.
std::vector<Tensor> largest_share(std::vector<Tensor> parameters, std::int64_t gpus) {
  std::stable_sort(parameters.begin(), parameters.end(),
                   [](const Tensor& a, const Tensor& b) { return a.numel() > b.numel(); });
  std::vector<Share> shares(static_cast<std::size_t>(gpus));
  for (Tensor& parameter : parameters) {
    Share& least = *std::min_element(shares.begin(), shares.end(), fewer_elements);
    least.elements += parameter.numel();
    least.parameters.push_back(std::move(parameter));
  }
  return std::move(std::max_element(shares.begin(), shares.end(), fewer_elements)->parameters);
}

}  // namespace

ZeroRedundancyOptimizer::ZeroRedundancyOptimizer(TorchOptimizer kind,
                                                 std::vector<Tensor> parameters, std::int64_t gpus)
    : Optimizer(std::move(parameters)),
      local_(make_optimizer(kind, largest_share(parameters_, gpus))) {}

}  // namespace vramfit::pytorch
