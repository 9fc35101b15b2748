#include "runtimes/pytorch/torch/ops/scan.h"

#include "runtimes/pytorch/torch/ops/elementwise.h"

namespace vramfit::pytorch {

Tensor cumsum(const Tensor& a, int dim, std::optional<ScalarType> type) {
  Context& context = a.context();
  const ScalarType to_type = type.value_or(is_floating(a.type()) ? a.type() : ScalarType::Long);
  const Tensor converted = to(a, to_type);
  Tensor result = empty(context, a.sizes(), to_type, Category::Inputs);
  // One row is scanned by cub, with a workspace of its own.
  constexpr std::int64_t kScanWorkspace = 1279;
  if (a.numel() == a.size(dim)) {
    empty(context, {kScanWorkspace}, ScalarType::Byte, Category::Workspace);
  }
  return result;
}

}  // namespace vramfit::pytorch
