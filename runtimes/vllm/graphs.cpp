#include "runtimes/vllm/graphs.h"

#include <algorithm>

#include "runtimes/vllm/elements.h"

namespace vramfit::vllm {
namespace {

constexpr std::int64_t kLargestCapture = 512;
constexpr std::int64_t kInteractive = 32;
// Of a graph, its launches and nodes, measured (data/reference/vllm/cuda_graphs.jsonl): bytes, from
// regions of their own.
constexpr std::uint64_t kRegion = 2 << 20;
constexpr std::uint64_t kSegment = 20 << 20;  ///< of tensors from 1 to 10 MiB
constexpr std::uint64_t kGraph = 64 << 10;
constexpr std::uint64_t kGraphToo = 48 << 10;
constexpr std::uint64_t kLaunch = 1792;
constexpr std::uint64_t kNode = 512;
/// Kernels of a layer: four products, norms, activation, rotation; and the two of its attention
/// and its cache.
constexpr std::uint64_t kOfPiece = 9;
constexpr std::uint64_t kOfAttention = 3;
/// FlashAttention 3 splits keys, in graphs into so many parts, whose sums are in fp32.
constexpr std::int64_t kParts = 32;
constexpr std::int64_t kSum = 4;
/// Buffers of a piece, of what it returns and of the run before it that warms up.
constexpr std::uint64_t kLiveSets = 3;

/// In the widest layer.
std::uint64_t partial_sums(const Shape& shape, const Options& options, std::int64_t tokens,
                           int sm) {
  if (!is_hopper(sm)) return 0;
  std::int64_t width = 0;
  for (const Layer& layer : shape.layers) {
    if (layer.keeps == Keeps::Latent || !layer.attends()) continue;
    width = std::max(width, layer.q_width() / options.tensor_parallel);
  }
  return static_cast<std::uint64_t>(kParts * width * tokens * kSum);
}

}  // namespace

std::vector<std::int64_t> capture_sizes(const Options& options, const Batch& batch) {
  if (options.eager) return {};
  const std::int64_t usual = std::min(2 * batch.sequences * (1 + options.drafted), kLargestCapture);
  const std::int64_t most = std::min(options.largest_capture.value_or(usual), batch.tokens);
  std::vector<std::int64_t> sizes;
  std::int64_t size = 1;
  if (options.mode == "interactivity") {
    for (; size <= std::min(most, kInteractive); ++size) sizes.push_back(size);
    size = kInteractive + 8;
  } else {
    for (; size <= std::min<std::int64_t>(most, 4); size *= 2) sizes.push_back(size);
    size = 8;
  }
  for (; size <= most; size += size < 256 ? 8 : 16) sizes.push_back(size);
  if (batch.tokens == most && sizes.back() != most) sizes.push_back(most);  // a whole step
  return sizes;
}

std::uint64_t graph_estimate(const Shape& shape, const Options& options, const Batch& batch,
                             const Gpu& gpu) {
  const std::vector<std::int64_t> sizes = capture_sizes(options, batch);
  if (sizes.empty()) return 0;
  constexpr std::uint64_t kLeast = 1 << 20;
  const auto whole = static_cast<std::uint64_t>(std::count_if(
      sizes.begin(), sizes.end(), [&](std::int64_t size) { return size <= batch.sequences; }));
  const Batch largest{sizes.back(), std::min(batch.sequences, sizes.back())};
  const std::uint64_t live = activations(shape, options, largest, gpu.arch.sm);
  const std::uint64_t segments = (live + kSegment - 1) / kSegment * kSegment;
  const std::uint64_t sums = partial_sums(shape, options, largest.tokens, gpu.arch.sm);
  const std::uint64_t first = std::max(sums, segments);
  return first + (sizes.size() - 1 + (whole > 0 ? whole - 1 : 0)) * kLeast;
}

std::uint64_t graph_code(const Shape& shape, const Options& options, const Batch& batch) {
  const std::vector<std::int64_t> sizes = capture_sizes(options, batch);
  const auto whole = static_cast<std::uint64_t>(std::count_if(
      sizes.begin(), sizes.end(), [&](std::int64_t size) { return size <= batch.sequences; }));
  const auto layers = static_cast<std::uint64_t>(shape.layers.size());
  const std::uint64_t graphs = sizes.size() * (layers + 1) + whole;
  const std::uint64_t kernels =
      layers * (sizes.size() * kOfPiece + whole * (kOfPiece + kOfAttention));
  return (graphs * kGraph / kRegion + graphs * kGraphToo / kRegion + kernels * kLaunch / kRegion +
          kernels * kNode / kRegion) *
         kRegion;
}

std::uint64_t graph_pool(const Shape& shape, const Options& options, const Batch& batch,
                         const Gpu& gpu) {
  const std::vector<std::int64_t> sizes = capture_sizes(options, batch);
  if (sizes.empty()) return 0;
  const Batch largest{sizes.back(), std::min(batch.sequences, sizes.back())};
  std::uint64_t pool = kLiveSets * activations(shape, options, largest, gpu.arch.sm);
  pool += 2 * blas_workspace(gpu.arch.sm);
  return pool + partial_sums(shape, options, largest.tokens, gpu.arch.sm);
}

}  // namespace vramfit::vllm
