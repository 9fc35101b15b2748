#include "kernels/cuda/base/approximate.cuh"
#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/launch.h"
#include "model/ops/optimizer_ops.h"

namespace vramfit {
namespace {

using namespace gpu;

constexpr int kThreads = 1024;

template <typename T>
struct Chunk {
  T* logits;  ///< (count, stored)
  const std::int32_t* targets;
  const float* scaler;
  float* row_losses;
  float loss_weight;
  int vocab;
  int stored;
};

/// Running sum of exp(x − largest), in one pass: the sum so far is rescaled as the largest grows.
struct RunningSum {
  float largest = kLowest;
  float sum = 0;

  __device__ void rescale(float largest_now) {
    sum *= exponential(largest - largest_now);
    largest = largest_now;
  }

  template <int N>
  __device__ void add(const Floats<N>& x) {
    float largest_now = largest;
#pragma unroll
    for (int i = 0; i < N; ++i) largest_now = fmaxf(largest_now, x[i]);
    if (largest_now > largest) rescale(largest_now);
#pragma unroll
    for (int i = 0; i < N; ++i) sum += exponential(x[i] - largest);
  }
};

/// One block per token. Its logits are read twice, the second time from L2: a chunk's rows in
/// flight are fewer bytes than that.
template <typename T, int N>
__global__ void __launch_bounds__(kThreads) cross_entropy(const Chunk<T> chunk) {
  __shared__ float shared[2][kMaxWarps];
  const std::int64_t row = blockIdx.x;
  T* logits = chunk.logits + row * chunk.stored;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int target = chunk.targets[row];
  const float target_logit = to_float(logits[target]);

  RunningSum own;
  const int whole = chunk.vocab / N * N;  // the next pack has padding in it
#pragma unroll 4
  for (int first = thread * N; first < whole; first += threads * N) {
    own.add(load_floats<T, N>(logits + first));
  }
  for (int v = whole + thread; v < chunk.vocab; v += threads) {
    own.add(load_floats<T, 1>(logits + v));
  }
  own.rescale(block_max(own.largest, shared[0]));
  const float sum = block_sum(own.sum, shared[1]);
  __syncthreads();  // all have read the target's logit
  if (thread == 0) chunk.row_losses[row] = own.largest + logf(sum) - target_logit;

  const float scale =
      chunk.loss_weight * (chunk.scaler == nullptr ? 1.0F : chunk.scaler[LossScale::kScale]);
  const float factor = scale / sum;
#pragma unroll 2
  for (int first = thread * N; first < chunk.stored; first += threads * N) {
    Floats<N> x = load_floats<T, N>(logits + first);
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = exponential(x[i] - own.largest) * factor;
    if (first <= target && target < first + N) {
#pragma unroll
      for (int i = 0; i < N; ++i) x[i] -= first + i == target ? scale : 0.0F;
    }
    if (first + N > chunk.vocab) {
#pragma unroll
      for (int i = 0; i < N; ++i) x[i] = first + i < chunk.vocab ? x[i] : 0.0F;
    }
    store_floats<T, N>(logits + first, x);
  }
}

/// One block, so that the order of the sum does not vary.
__global__ void __launch_bounds__(kThreads)
    add_losses(const float* row_losses, int count, float loss_weight, float* loss) {
  __shared__ float shared[kMaxWarps];
  float sum = 0;
  for (int row = static_cast<int>(threadIdx.x); row < count; row += kThreads) {
    sum += row_losses[row];
  }
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) *loss += loss_weight * sum;
}

template <typename T, int N>
__global__ void __launch_bounds__(256)
    round_sums(const float* sums, T* to, std::int64_t packs, bool accumulate) {
  const std::int64_t p = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (p < packs) put<T, N>(to + p * N, load_floats<float, N>(sums + p * N), accumulate);
}

}  // namespace

void launch(const HeadLossChunk& chunk, cudaStream_t stream) {
  const HeadLoss& op = chunk.op;
  const std::int64_t stored = op.logits.shape()[1];
  expect(chunk.count <= op.chunk && chunk.count <= op.logits.shape()[0],
         "head_loss: a chunk is larger than its logits");
  expect_workspace(op.gemm_workspace, sizeof(float) * static_cast<std::uint64_t>(chunk.count),
                   "head_loss");
  auto* row_losses = op.gemm_workspace.as<float>();
  with_element(op.logits.format(), [&](auto element) {
    using T = decltype(element);
    with_pack<T>(is_packed<T>(stored, {op.logits.data()}), [&](auto size) {
      constexpr int kSize = decltype(size)::value;
      const Chunk<T> arguments = {op.logits.as<T>(),
                                  op.targets.as<std::int32_t>() + chunk.first,
                                  op.scaler == nullptr ? nullptr : op.scaler->as<float>(),
                                  row_losses,
                                  op.loss_weight,
                                  static_cast<int>(op.weight.shape()[0]),
                                  static_cast<int>(stored)};
      start({"head_loss", static_cast<unsigned>(chunk.count), whole_warps(stored / kSize), stream},
            cross_entropy<T, kSize>, arguments);
    });
  });
  start({"head_loss: sum", 1, kThreads, stream}, add_losses, row_losses,
        static_cast<int>(chunk.count), op.loss_weight, op.loss.as<float>());
}

void launch(const HeadGradientRounding& rounding, cudaStream_t stream) {
  const HeadLoss& op = rounding.op;
  const std::int64_t count = op.dweight->stored().elements();
  with_element(op.dweight->format(), [&](auto element) {
    using T = decltype(element);
    const bool packed = is_packed<T>(count, {op.dweight->data(), op.dweight_sum->data()});
    with_pack<T>(packed, [&](auto size) {
      constexpr int kSize = decltype(size)::value;
      const std::int64_t packs = count / kSize;
      start({"head_gradient_rounding", ceil_divide(packs, 256), 256, stream}, round_sums<T, kSize>,
            op.dweight_sum->as<float>(), op.dweight->as<T>(), packs, op.accumulate_dweight);
    });
  });
}

}  // namespace vramfit
