#include <cstdint>

#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/launch.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kMostThreads = 256;

template <typename T, int N>
__global__ void embed(const std::int32_t* tokens, const T* table, const T* positions,
                      const std::int32_t* starts, std::int64_t seq, int packs, T* x) {
  take_turn();
  const std::int64_t n = blockIdx.x;
  const std::int64_t width = std::int64_t{packs} * N;
  const T* row = table + tokens[n] * width;
  const T* position =
      positions == nullptr ? nullptr : positions + (start_of(starts, n / seq) + n % seq) * width;
  for (int p = static_cast<int>(threadIdx.x); p < packs; p += static_cast<int>(blockDim.x)) {
    Pack<T, N> pack = Pack<T, N>::load(row + p * N);
    if (position != nullptr) {
      Floats<N> sum = pack.floats();
      const Floats<N> more = load_floats<T, N>(position + p * N);
#pragma unroll
      for (int i = 0; i < N; ++i) sum[i] += more[i];
      pack = Pack<T, N>(sum);
    }
    pack.store(x + n * width + p * N);
  }
}

// Backward sorts the batch's positions by their token: `ends[v]` is where v's end in `order`, and
// v − 1's end is where they begin. Within a token's bucket they lie as they come; whoever sums them
// does so in ascending order, so that results do not vary.

__global__ void count_tokens(const std::int32_t* tokens, std::int64_t count, std::int32_t* counts) {
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n < count) atomicAdd(&counts[tokens[n]], 1);
}

/// Sum of `value` over the block's threads before this one; `total` over all.
__device__ int exclusive_block_sum(int value, int& total) {
  __shared__ int warp_totals[kMaxWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  int inclusive = value;
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const int other = __shfl_up_sync(kWholeWarp, inclusive, static_cast<unsigned>(distance));
    if (lane >= distance) inclusive += other;
  }
  if (lane == kWarp - 1) warp_totals[warp] = inclusive;
  __syncthreads();
  int before = 0;
  total = 0;
  for (int w = 0; w < static_cast<int>(blockDim.x) / kWarp; ++w) {
    if (w < warp) before += warp_totals[w];
    total += warp_totals[w];
  }
  __syncthreads();
  return before + inclusive - value;
}

/// Turns counts into the sums of those before them. One block.
__global__ void begin_buckets(std::int32_t* counts, std::int64_t vocab) {
  constexpr int kEach = 4;
  int carry = 0;
  for (std::int64_t tile = 0; tile < vocab; tile += std::int64_t{blockDim.x} * kEach) {
    const std::int64_t first = tile + std::int64_t{threadIdx.x} * kEach;
    int own[kEach];
    int sum = 0;
    for (int i = 0; i < kEach; ++i) {
      own[i] = first + i < vocab ? counts[first + i] : 0;
      sum += own[i];
    }
    int total = 0;
    int before = carry + exclusive_block_sum(sum, total);
    for (int i = 0; i < kEach; ++i) {
      if (first + i < vocab) counts[first + i] = before;
      before += own[i];
    }
    carry += total;
  }
}

/// Fills the buckets; each bucket's begin has moved to its end afterwards.
__global__ void fill_buckets(const std::int32_t* tokens, std::int64_t count, std::int32_t* ends,
                             std::int32_t* order) {
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n < count) order[atomicAdd(&ends[tokens[n]], 1)] = static_cast<std::int32_t>(n);
}

template <int N>
struct RowSum {
  Floats<N> sum{};

  template <typename T>
  __device__ void add(const T* dx, std::int64_t n, std::int64_t width) {
    const Floats<N> more = load_floats<T, N>(dx + n * width);
#pragma unroll
    for (int i = 0; i < N; ++i) sum[i] += more[i];
  }
};

/// A bucket that one warp can sort.
constexpr int kShortBucket = kWarp;

/// A larger bucket is a set of bits, one for each position of a window of the batch.
constexpr int kWindowWords = 1024;
constexpr int kWindow = 32 * kWindowWords;

/// Sorts by rank: a position's place is the number of smaller ones.
__device__ void sort_short_bucket(const std::int32_t* bucket, int count, std::int32_t* sorted) {
  if (threadIdx.x < kWarp) {
    const int lane = static_cast<int>(threadIdx.x);
    const std::int32_t own = lane < count ? bucket[lane] : INT32_MAX;
    int rank = 0;
    for (int other = 0; other < count; ++other) {
      rank += __shfl_sync(kWholeWarp, own, other) < own ? 1 : 0;
    }
    if (lane < count) sorted[rank] = own;
  }
  __syncthreads();
}

__device__ void mark_window(const std::int32_t* bucket, int count, std::int64_t from,
                            std::uint32_t* bits) {
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  __syncthreads();
  for (int word = thread; word < kWindowWords; word += threads) bits[word] = 0;
  __syncthreads();
  for (int i = thread; i < count; i += threads) {
    const std::int64_t offset = bucket[i] - from;
    if (offset >= 0 && offset < kWindow) atomicOr(&bits[offset / 32], 1U << (offset % 32));
  }
  __syncthreads();
}

template <typename T>
struct TableGradient {
  const std::int32_t* ends;
  const std::int32_t* order;
  const T* dx;
  T* dtable;
  std::int64_t tokens;
  std::int64_t vocab;
  int packs;
  bool accumulate;
};

/// One block per row of the table, padding rows included.
template <typename T, int N>
__global__ void sum_buckets(const TableGradient<T> g) {
  __shared__ std::uint32_t shared[kWindowWords];
  const std::int64_t v = blockIdx.x;
  const std::int64_t width = std::int64_t{g.packs} * N;
  const std::int32_t begin = v > 0 && v < g.vocab ? g.ends[v - 1] : 0;
  const int count = v < g.vocab ? g.ends[v] - begin : 0;
  if (count == 0 && g.accumulate) return;

  const std::int32_t* bucket = g.order + begin;
  auto* sorted = reinterpret_cast<std::int32_t*>(shared);
  if (count <= kShortBucket) sort_short_bucket(bucket, count, sorted);
  const int threads = static_cast<int>(blockDim.x);
  for (int base = 0; base < g.packs; base += threads) {
    const int p = base + static_cast<int>(threadIdx.x);
    const bool active = p < g.packs;
    const T* column = g.dx + std::int64_t{p} * N;
    RowSum<N> row;
    if (count <= kShortBucket) {
      for (int i = 0; active && i < count; ++i) row.add(column, sorted[i], width);
    } else {
      for (std::int64_t from = 0; from < g.tokens; from += kWindow) {
        mark_window(bucket, count, from, shared);
        for (int word = 0; active && word < kWindowWords; ++word) {
          for (std::uint32_t bits = shared[word]; bits != 0; bits &= bits - 1) {
            row.add(column, from + 32 * word + __ffs(static_cast<int>(bits)) - 1, width);
          }
        }
      }
    }
    if (active) put<T, N>(g.dtable + v * width + std::int64_t{p} * N, row.sum, g.accumulate);
  }
}

/// One block per position, those past the sequence's end included.
template <typename T, int N>
__global__ void sum_positions(const T* dx, std::int64_t batch, std::int64_t seq, int packs,
                              T* dpositions, bool accumulate) {
  const std::int64_t t = blockIdx.x;
  const std::int64_t width = std::int64_t{packs} * N;
  for (int p = static_cast<int>(threadIdx.x); p < packs; p += static_cast<int>(blockDim.x)) {
    RowSum<N> row;
    for (std::int64_t b = 0; t < seq && b < batch; ++b) {
      row.add(dx + std::int64_t{p} * N, b * seq + t, width);
    }
    put<T, N>(dpositions + t * width + std::int64_t{p} * N, row.sum, accumulate);
  }
}

void sort_by_token(const EmbeddingBackward& op, std::int32_t* ends, std::int32_t* order,
                   std::int64_t vocab, cudaStream_t stream) {
  const std::int64_t count = op.tokens.shape().elements();
  const auto* tokens = op.tokens.as<std::int32_t>();
  const int blocks = ceil_divide(count, kMostThreads);
  check(cudaMemsetAsync(ends, 0, sizeof(std::int32_t) * static_cast<std::size_t>(vocab), stream),
        "embedding_backward");
  start({"embedding_backward: count", blocks, kMostThreads, stream}, count_tokens, tokens, count,
        ends);
  start({"embedding_backward: begin", 1, 1024, stream}, begin_buckets, ends, vocab);
  start({"embedding_backward: fill", blocks, kMostThreads, stream}, fill_buckets, tokens, count,
        ends, order);
}

}  // namespace

void launch(const EmbeddingForward& op, cudaStream_t stream) {
  const std::int64_t count = op.tokens.shape().elements();
  const std::int64_t width = op.table.shape()[1];
  const void* positions = op.positions == nullptr ? nullptr : op.positions->data();
  with_element(op.x.format(), [&](auto element) {
    using T = decltype(element);
    with_pack<T>(is_packed<T>(width, {op.table.data(), positions, op.x.data()}), [&](auto size) {
      constexpr int kSize = decltype(size)::value;
      const int packs = static_cast<int>(width / kSize);
      // A step's first kernel, which begins when those before it have ended: what they write, the
      // sequences' positions above all, those after it may read before they wait.
      start({"embedding_forward", static_cast<unsigned>(count), whole_warps(packs, kMostThreads),
             stream},
            embed<T, kSize>, op.tokens.as<std::int32_t>(), op.table.as<T>(),
            static_cast<const T*>(positions), integers_of(op.starts), op.tokens.shape()[1], packs,
            op.x.as<T>());
    });
  });
}

void launch(const EmbeddingBackward& op, cudaStream_t stream) {
  const std::int64_t count = op.tokens.shape().elements();
  const std::int64_t vocab = op.dtable.shape()[0];
  const std::int64_t width = op.dtable.shape()[1];
  expect_workspace(op.workspace, embedding_backward_workspace_bytes(count, vocab),
                   "embedding_backward");
  auto* ends = op.workspace.as<std::int32_t>();
  std::int32_t* order = ends + vocab;
  sort_by_token(op, ends, order, vocab, stream);

  void* dpositions = op.dpositions == nullptr ? nullptr : op.dpositions->data();
  with_element(op.dx.format(), [&](auto element) {
    using T = decltype(element);
    with_pack<T>(is_packed<T>(width, {op.dx.data(), op.dtable.data(), dpositions}), [&](auto size) {
      constexpr int kSize = decltype(size)::value;
      const int packs = static_cast<int>(width / kSize);
      const int threads = whole_warps(packs, kMostThreads);
      const auto rows = static_cast<unsigned>(op.dtable.stored()[0]);
      const TableGradient<T> gradient = {ends,  order, op.dx.as<T>(), op.dtable.as<T>(),
                                         count, vocab, packs,         op.accumulate_table};
      start({"embedding_backward: table", rows, threads, stream}, sum_buckets<T, kSize>, gradient);
      if (dpositions == nullptr) return;
      const auto positions = static_cast<unsigned>(op.dpositions->shape()[0]);
      start({"embedding_backward: positions", positions, threads, stream}, sum_positions<T, kSize>,
            op.dx.as<T>(), op.tokens.shape()[0], op.tokens.shape()[1], packs,
            static_cast<T*>(dpositions), op.accumulate_positions);
    });
  });
}

}  // namespace vramfit
