#include "kernels/cuda/attention/decode_unit.cuh"
#include "kernels/cuda/base/launch.h"

namespace vramfit {
namespace {

using namespace gpu;

/// The fewest positions that are worth a split of their own.
constexpr std::int64_t kFewestPositions = 64;

/// A block is a unit.
template <typename T, typename Stored, int N, int kPacks, int kHeads>
__global__ void __launch_bounds__(kDecodeThreads) decode(const Decode<T> d) {
  __shared__ WarpStates states[kHeads];
  if (d.early) start_next_kernel();
  wait_for_previous_kernels();
  const auto start_next = [&d] {
    if (!d.early) start_next_kernel();
  };
  decode_unit<Stored, N, kPacks, kHeads>(
      d, d.starts, static_cast<int>(blockIdx.x), static_cast<int>(threadIdx.x), states,
      dynamic_shared<float>(), start_next, [] { __syncthreads(); });
}

/// One block per query head of a sequence, one thread per column.
template <typename T>
__global__ void combine_splits(const float* partial, const float2* sums, int splits, int head_dim,
                               T* out) {
  take_turn();
  const std::int64_t row = blockIdx.x;
  const SplitFactors factors(sums + row * splits, splits);
  const int column = static_cast<int>(threadIdx.x);
  const float* from = partial + row * splits * head_dim + min(column, head_dim - 1);
  float total = 0;
#pragma unroll 8
  for (int s = 0; s < splits; ++s) total += factors.of(s) * from[s * head_dim];
  if (column < head_dim) out[row * head_dim + column] = from_float<T>(total / factors.sum());
}

template <typename Stored, int N, int kPacks, int kHeads, typename T>
void launch_decode(const AttentionDecode& op, cudaStream_t stream) {
  Decode<T> d(op, kHeads, N * kPacks);
  const std::size_t shared =
      sizeof(float) * static_cast<std::size_t>(kDecodeWarps * kHeads * d.head_dim);
  static const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  const auto kernel = decode<T, Stored, N, kPacks, kHeads>;
  int each = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kDecodeThreads, shared),
        "attention_decode");
  const std::int64_t room = std::int64_t{each} * multiprocessors;
  d.split(op, room, kFewestPositions);
  const std::int64_t blocks = d.units(op) * d.splits;
  // Beside a linear's blocks, which have most of the shared memory, L1 is too small to keep long
  // caches' bytes on their way: then they wait until those blocks have gone.
  d.early = 2 * blocks <= room;
  start(
      {"attention_decode", static_cast<unsigned>(blocks), kDecodeThreads, stream, shared, d.early},
      kernel, d);
  if (d.splits == 1) return;
  start({"attention_decode: combine", static_cast<unsigned>(op.shape.batch * op.shape.heads),
         whole_warps(d.head_dim), stream, 0, true},
        combine_splits<T>, d.partial, d.partial_sums, d.splits, d.head_dim, d.out);
}

/// Calls `body` with how many query heads a unit takes, as a Constant.
template <typename Body>
void with_heads(std::int64_t group_heads, const Body& body) {
  if (group_heads == 1) {
    body(Constant<1>{});
  } else if (group_heads == 2) {
    body(Constant<2>{});
  } else if (group_heads <= 4) {
    body(Constant<4>{});
  } else {
    body(Constant<8>{});
  }
}

template <typename T, typename Stored>
void launch_stored(const AttentionDecode& op, cudaStream_t stream) {
  const AttentionShape& shape = op.shape;
  constexpr int kPack = kCachePack<T, Stored>;
  if (!is_packed_cache<T, Stored>(op)) {
    launch_decode<Stored, 1, static_cast<int>(kMaxHeadDim) / kWarp, 1, T>(op, stream);
    return;
  }
  with_heads(shape.heads / shape.kv_heads, [&](auto heads) {
    constexpr int kHeads = decltype(heads)::value;
    if (shape.head_dim <= std::int64_t{kWarp} * kPack) {
      launch_decode<Stored, kPack, 1, kHeads, T>(op, stream);
    } else if constexpr (kPack * kWarp < kMaxHeadDim) {
      launch_decode<Stored, kPack, 2, kHeads, T>(op, stream);
    }
  });
}

}  // namespace

void launch(const AttentionDecode& op, cudaStream_t stream) {
  expect_decode(op);
  with_element(op.qkv.format(), [&](auto element) {
    using T = decltype(element);
    with_stored<T>(op.cache.keys.format(),
                   [&](auto stored) { launch_stored<T, decltype(stored)>(op, stream); });
  });
}

}  // namespace vramfit
