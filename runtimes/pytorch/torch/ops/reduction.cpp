#include "runtimes/pytorch/torch/ops/reduction.h"

#include <algorithm>

#include "model/checked.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

std::int64_t last_pow2(std::int64_t n) {
  std::int64_t power = 1;
  while (power * 2 <= n) power *= 2;
  return power;
}

/// CUDA Programming Guide, "Technical Specifications per Compute Capability".
std::int64_t threads_per_multiprocessor(Arch arch) {
  if (arch.sm == 75) return 1024;
  const int major = arch.sm / 10;
  const bool data_centre = arch.sm == 80 || major == 7 || major == 9 || major == 10;
  return data_centre ? 2048 : 1536;
}

/// What gpu_reduce_kernel allocates where several blocks share an output: partial results and
/// semaphores, freed as it returns. aten/src/ATen/native/cuda/Reduce.cuh (setReduceConfig,
/// global_memory_size), PyTorch 2.11, for sums over the slow dimension of a matrix.
struct GlobalReduce {
  std::int64_t buffer = 0;  ///< bytes; 0: one block an output does
  std::int64_t semaphores = 0;
};

GlobalReduce reduce_rows(const Context& context, std::int64_t rows, std::int64_t columns,
                         std::int64_t accumulator_bytes) {
  constexpr std::int64_t kMaxThreads = 512;
  constexpr std::int64_t kWarp = 32;
  constexpr std::int64_t kMinValuesPerThread = 16;
  constexpr std::int64_t kMaxValuesPerThread = 256;
  const std::int64_t vector = columns % 4 == 0 ? 4 : columns % 2 == 0 ? 2 : 1;
  const std::int64_t threads = kMaxThreads / vector;
  const auto pow2 = [&](std::int64_t n) { return n < threads ? last_pow2(n) : threads; };
  const std::int64_t dim0 = pow2(columns / vector);
  std::int64_t width = std::min(dim0, kWarp);
  const std::int64_t height = std::min(pow2(rows), threads / width);
  width = std::min(dim0, threads / height);

  // Rows are split over the block's height where a thread would have many.
  if (rows < std::min(height * 16, kMaxValuesPerThread)) return {};
  const std::int64_t values_per_thread = div_up(rows, height);
  const std::int64_t grid = div_up(columns / vector, width);
  const std::int64_t target =
      context.multiprocessors * (threads_per_multiprocessor(context.arch) / (width * height));
  if (values_per_thread < kMaxValuesPerThread || grid > target) return {};
  const std::int64_t blocks =
      std::max(std::min(div_up(target, grid), div_up(values_per_thread, kMinValuesPerThread)),
               div_up(values_per_thread, kMaxValuesPerThread));
  if (blocks <= 1) return {};
  return {accumulator_bytes * columns * blocks * width * vector, 4 * grid};
}

/// Allocates that, once the output exists.
void reduce_rows_globally(Context& context, std::int64_t rows, std::int64_t columns,
                          std::int64_t accumulator_bytes) {
  const GlobalReduce shared = reduce_rows(context, rows, columns, accumulator_bytes);
  if (shared.buffer == 0) return;
  const Tensor buffer = empty(context, {shared.buffer}, ScalarType::Byte, Category::Workspace);
  const Tensor counters =
      empty(context, {shared.semaphores}, ScalarType::Byte, Category::Workspace);
}

}  // namespace

Tensor mean_last(const Tensor& a) {
  const auto make_backward = [&] {
    return [from = a.sizes()](Node&, Gradients& grads) -> Gradients {
      return {mul_scalar(expand(grads[0], from))};  // grad.expand(sizes) / n
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Tensor result = empty(a.context(), a.sizes().with(-1, 1), a.type());
  set_history(result, node);
  return result;
}

namespace {

/// Of one dimension, `scales` the gradient as a mean does.
Tensor reduced(const Tensor& a, int dim, bool keepdim, bool scales) {
  const auto make_backward = [&] {
    return [from = a.sizes(), dim, keepdim, scales](Node&, Gradients& grads) -> Gradients {
      const Tensor grad = expand(keepdim ? grads[0] : unsqueeze(grads[0], dim), from);
      return {scales ? mul_scalar(grad) : grad};
    };
  };
  const Ref<Node> node = make_node(a.context(), make_backward, a);
  Dims sizes;
  for (int i = 0; i < a.rank(); ++i) {
    if (i != dim) {
      sizes.push_back(a.size(i));
    } else if (keepdim) {
      sizes.push_back(1);
    }
  }
  Tensor result = empty(a.context(), sizes, a.type());
  set_history(result, node);
  return result;
}

}  // namespace

Tensor mean(const Tensor& a, int dim, bool keepdim) { return reduced(a, dim, keepdim, true); }
Tensor sum(const Tensor& a, int dim, bool keepdim) { return reduced(a, dim, keepdim, false); }

Tensor sum_to(Tensor a, const Dims& sizes) {
  Context& context = a.context();
  Tensor result = empty(context, sizes, a.type());
  const std::int64_t columns = sizes.product();
  // Rows that fill their memory are one dimension to the kernel, in whatever order they lie.
  const bool is_matrix = a.is_non_overlapping_and_dense() && a.strides()[-1] == 1;
  if (sizes.rank() == 1 && a.size(-1) == columns && is_matrix) {
    reduce_rows_globally(context, a.numel() / columns, columns, element_size(ScalarType::Float));
  }
  return result;
}

// Rows that are reduced by themselves, and a matrix as a whole, share partial results of a few KiB,
// which are left out.
Tensor reduce_dim(const Tensor& a, int dim) {
  Tensor result = empty(a.context(), a.sizes().with(dim, 1), a.type(), Category::Workspace);
  if (dim == 0 && a.size(1) > 1) {
    // Floating-point types are summed in fp32.
    const ScalarType sums = is_floating(a.type()) ? ScalarType::Float : a.type();
    reduce_rows_globally(a.context(), a.size(0), a.size(1), element_size(sums));
  }
  return result;
}

Tensor reduce_all(const Tensor& a) { return empty(a.context(), {}, a.type(), Category::Workspace); }

}  // namespace vramfit::pytorch
