#include "runtimes/pytorch/torch/ops/reduce_kernel.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "model/checked.h"
#include "runtimes/pytorch/torch/ops/multiprocessor.h"
#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

std::int64_t last_power(std::int64_t n) {
  std::int64_t power = 1;
  while (power * 2 <= n) power *= 2;
  return power;
}

/// A TensorIterator over an output and an input: sizes from the fastest dimension on, strides in
/// elements.
struct Walk {
  Dims sizes;
  Dims output;  ///< 0 where reduced
  Dims input;

  std::int64_t numel() const { return sizes.product(); }
  int reduced() const {
    int count = 0;
    for (int i = 0; i < sizes.rank(); ++i) count += output[i] == 0 ? 1 : 0;
    return count;
  }
  std::int64_t outputs() const {
    std::int64_t count = 1;
    for (int i = 0; i < sizes.rank(); ++i) count *= output[i] == 0 ? 1 : sizes[i];
    return count;
  }
};

/// reorder_dimensions' should_swap, of a reduction.
int compare_reduced(const Walk& walk, int a, int b) {
  if ((walk.output[a] == 0) != (walk.output[b] == 0)) return walk.output[b] == 0 ? 1 : -1;
  for (const Dims* strides : {&walk.output, &walk.input}) {
    const std::int64_t left = (*strides)[a];
    const std::int64_t right = (*strides)[b];
    if (left == 0 || right == 0) continue;
    if (left != right) return left < right ? -1 : 1;
    if (walk.sizes[a] > walk.sizes[b]) return 1;
  }
  return 0;
}

Walk reordered(const Walk& walk) {
  std::array<int, Dims::kMax> order{};
  const int rank = walk.sizes.rank();
  const auto at = [&](int i) -> int& { return order[static_cast<std::size_t>(i)]; };
  for (int i = 0; i < rank; ++i) at(i) = rank - 1 - i;
  for (int i = 1; i < rank; ++i) {
    int moving = i;
    for (int below = i - 1; below >= 0; --below) {
      const int comparison = compare_reduced(walk, at(below), at(moving));
      if (comparison < 0) break;
      if (comparison > 0) {
        std::swap(at(below), at(moving));
        moving = below;
      }
    }
  }
  Walk result;
  for (int i = 0; i < rank; ++i) {
    result.sizes.push_back(walk.sizes[at(i)]);
    result.output.push_back(walk.output[at(i)]);
    result.input.push_back(walk.input[at(i)]);
  }
  return result;
}

/// coalesce_dimensions
Walk coalesced(const Walk& walk) {
  Walk result;
  for (int i = 0; i < walk.sizes.rank(); ++i) {
    const int last = result.sizes.rank() - 1;
    if (last >= 0) {
      const std::int64_t size = result.sizes[last];
      const bool runs_on = size * result.output[last] == walk.output[i] &&
                           size * result.input[last] == walk.input[i];
      if (size == 1 || walk.sizes[i] == 1 || runs_on) {
        if (size == 1) {
          result.output[last] = walk.output[i];
          result.input[last] = walk.input[i];
        }
        result.sizes[last] = size * walk.sizes[i];
        continue;
      }
    }
    result.sizes.push_back(walk.sizes[i]);
    result.output.push_back(walk.output[i]);
    result.input.push_back(walk.input[i]);
  }
  return result;
}

/// get_output_vec_size; the input is aligned.
std::int64_t output_vector(const Walk& walk) {
  const int place = walk.reduced();
  std::int64_t size = 4;
  const auto fit = [&](std::int64_t n) {
    while (n % size != 0) size /= 2;
  };
  fit(walk.sizes[place]);
  for (int i = 0; i < walk.sizes.rank(); ++i) {
    if (i != place) fit(walk.input[i]);
  }
  return size;
}

struct Shared {
  std::int64_t buffer = 0;  ///< bytes; 0: one block an output does
  std::int64_t semaphores = 0;
};

/// setReduceConfig, global_memory_size, semaphore_size.
Shared shared_by_blocks(const Context& context, const Walk& walk, std::int64_t accumulator) {
  constexpr std::int64_t kMaxThreads = 512;
  constexpr std::int64_t kWarp = 32;
  constexpr std::int64_t kMinValuesPerThread = 16;
  constexpr std::int64_t kMaxValuesPerThread = 256;
  const std::int64_t outputs = walk.outputs();
  const std::int64_t inputs = walk.numel() / outputs;
  const int rank = walk.sizes.rank();
  const int reduced = walk.reduced();
  const bool along_fastest = rank == 0 || reduced == rank || walk.input[0] < walk.input[reduced];
  std::int64_t dim0 = along_fastest ? inputs : outputs;
  const std::int64_t dim1 = along_fastest ? outputs : inputs;
  std::int64_t vector = 1;
  if (rank > 0 && !along_fastest && walk.input[reduced] == 1) {
    vector = output_vector(walk);
    dim0 /= vector;
  }
  // Vectors along the input matter to blocks of few threads alone, which share no output.
  const std::int64_t threads = kMaxThreads / vector;
  const auto pow2 = [&](std::int64_t n) { return n < threads ? last_power(n) : threads; };
  std::int64_t width = std::min(pow2(dim0), kWarp);
  const std::int64_t height = std::min(pow2(dim1), threads / width);
  width = std::min(pow2(dim0), threads / height);

  std::int64_t step_input = along_fastest ? width : 1;
  std::int64_t step_output = along_fastest ? 1 : width;
  const auto values = [&] { return div_up(inputs, step_input); };
  const bool across_warps = values() >= std::min(height * 16, kMaxValuesPerThread);
  (across_warps ? step_input : step_output) *= height;
  const std::int64_t grid = div_up(outputs / vector, step_output);
  const std::int64_t target =
      context.multiprocessors * (threads_per_multiprocessor(context.arch) / (width * height));
  if (!across_warps || values() < kMaxValuesPerThread || grid > target) return {};
  const std::int64_t blocks =
      std::max(std::min(div_up(target, grid), div_up(values(), kMinValuesPerThread)),
               div_up(values(), kMaxValuesPerThread));
  if (blocks <= 1) return {};
  const std::int64_t lanes = along_fastest ? 1 : width * vector;
  return {accumulator * outputs * blocks * lanes, 4 * grid};
}

/// can_use_32bit_indexing, of bytes.
bool is_within_32_bits(const Walk& walk, std::int64_t element) {
  std::int64_t extent = 1;
  for (int i = 0; i < walk.sizes.rank(); ++i)
    extent += (walk.sizes[i] - 1) * walk.input[i] * element;
  return extent <= std::numeric_limits<std::int32_t>::max();
}

/// with_32bit_indexing: halves along the widest dimension, until they fit.
void reduce_in_parts(Context& context, const Walk& walk, std::int64_t element,
                     std::int64_t accumulator) {
  if (is_within_32_bits(walk, element)) {
    const Shared shared = shared_by_blocks(context, walk, accumulator);
    if (shared.buffer == 0) return;
    const Tensor buffer = empty(context, {shared.buffer}, ScalarType::Byte, Category::Workspace);
    const Tensor semaphores =
        empty(context, {shared.semaphores}, ScalarType::Byte, Category::Workspace);
    return;
  }
  int widest = 0;
  std::int64_t most = -1;
  for (int i = walk.sizes.rank() - 1; i >= 0; --i) {
    const std::int64_t extent = (walk.sizes[i] - 1) * std::max(walk.input[i], walk.output[i]);
    if (extent > most) {
      most = extent;
      widest = i;
    }
  }
  Walk first = walk;
  first.sizes[widest] = walk.sizes[widest] / 2;
  Walk second = walk;
  second.sizes[widest] = walk.sizes[widest] - first.sizes[widest];
  reduce_in_parts(context, first, element, accumulator);
  reduce_in_parts(context, second, element, accumulator);
}

}  // namespace

Dims reduced_sizes(const Dims& sizes, DimMask mask, bool keepdim) {
  Dims result;
  for (int i = 0; i < sizes.rank(); ++i) {
    if ((mask & bit(i)) == 0) {
      result.push_back(sizes[i]);
    } else if (keepdim) {
      result.push_back(1);
    }
  }
  return result;
}

void use_reduce_kernel(const Tensor& input, DimMask mask, const Reduction& reduction) {
  if (input.numel() == 0 || input.is_meta()) return;
  Walk walk{input.sizes(), contiguous_strides(reduced_sizes(input.sizes(), mask, true)),
            input.strides()};
  for (int i = 0; i < input.rank(); ++i) {
    if ((mask & bit(i)) != 0) walk.output[i] = 0;
  }
  walk = coalesced(reordered(walk));
  const std::int64_t element = element_size(input.type());
  Tensor apart;  // AccumulationBuffer
  if (!reduction.in_output && !is_within_32_bits(walk, element)) {
    apart = empty(input.context(), {walk.outputs() * reduction.accumulator}, ScalarType::Byte,
                  Category::Workspace);
  }
  reduce_in_parts(input.context(), walk, element, reduction.accumulator);
}

}  // namespace vramfit::pytorch
