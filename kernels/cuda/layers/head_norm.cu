#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/launch.h"
#include "kernels/cuda/layers/column_partials.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

using namespace gpu;

// A warp takes a head, whose elements its lanes hold in registers.

constexpr int kWarps = 8;
constexpr int kLaneElements = static_cast<int>(kMaxHeadDim) / kWarp;

struct Heads {
  std::int64_t tokens;
  std::int64_t width;  ///< of a row of qkv
  int queries;
  int count;  ///< of q and k in a token
  int dim;
};

Heads heads_of(const AttentionShape& shape) {
  expect(shape.head_dim <= kMaxHeadDim, "head_norm: heads are wider than any");
  return {shape.tokens(), shape.qkv_width(), static_cast<int>(shape.heads),
          static_cast<int>(shape.heads + shape.kv_heads), static_cast<int>(shape.head_dim)};
}

template <typename T>
struct Forward {
  Heads heads;
  T* qkv;
  const T* q_weight;
  const T* k_weight;
  T* x;
  float* rstd;
  float eps;
};

template <typename T>
__global__ void __launch_bounds__(kWarps* kWarp) head_norm_forward(const Forward<T> f) {
  take_turn();
  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t number = std::int64_t{blockIdx.x} * kWarps + threadIdx.y;
  if (number >= f.heads.tokens * f.heads.count) return;
  const int head = static_cast<int>(number % f.heads.count);
  T* qkv = f.qkv + number / f.heads.count * f.heads.width + head * f.heads.dim;
  const T* weight = head < f.heads.queries ? f.q_weight : f.k_weight;

  float x[kLaneElements];
  float squares = 0;
#pragma unroll
  for (int k = 0; k < kLaneElements; ++k) {
    const int c = lane + k * kWarp;
    x[k] = c < f.heads.dim ? load_floats<T, 1>(qkv + c)[0] : 0.0F;
    squares += x[k] * x[k];
  }
  const float rstd = 1.0F / sqrtf(warp_sum(squares) / static_cast<float>(f.heads.dim) + f.eps);
  if (lane == 0 && f.rstd != nullptr) f.rstd[number] = rstd;
#pragma unroll
  for (int k = 0; k < kLaneElements; ++k) {
    const int c = lane + k * kWarp;
    if (c >= f.heads.dim) continue;
    if (f.x != nullptr) store_floats<T, 1>(f.x + number * f.heads.dim + c, Floats<1>{x[k]});
    const float y = x[k] * rstd * load_floats<T, 1>(weight + c)[0];
    store_floats<T, 1>(qkv + c, Floats<1>{y});
  }
}

template <typename T>
struct Backward {
  Heads heads;
  const T* x;
  const float* rstd;
  const T* q_weight;
  const T* k_weight;
  T* dqkv;
  float* partials;  ///< dq_weight's sums, (groups, d), then dk_weight's
};

/// Adds up the warps' sums of one weight, in order, and writes the group's.
__device__ void write_group(const float (&sums)[kLaneElements], int dim,
                            float (&shared)[kWarps][kMaxHeadDim], float* to) {
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kLaneElements; ++k) {
    shared[threadIdx.y][threadIdx.x + k * kWarp] = sums[k];
  }
  __syncthreads();
  const int thread = static_cast<int>(threadIdx.y * kWarp + threadIdx.x);
  for (int c = thread; c < dim; c += kWarps * kWarp) {
    float sum = 0;
    for (int warp = 0; warp < kWarps; ++warp) sum += shared[warp][c];
    to[c] = sum;
  }
}

/// A block takes one group of tokens, of which there are at most kColumnSumGroups.
template <typename T>
__global__ void __launch_bounds__(kWarps* kWarp) head_norm_backward(const Backward<T> b) {
  __shared__ float shared[kWarps][kMaxHeadDim];
  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t groups = gridDim.x;
  const std::int64_t group = blockIdx.x;
  const std::int64_t end = (group + 1) * b.heads.tokens / groups * b.heads.count;
  std::int64_t number = group * b.heads.tokens / groups * b.heads.count + threadIdx.y;
  const float inverse_dim = 1.0F / static_cast<float>(b.heads.dim);
  float dq_weight[kLaneElements] = {};
  float dk_weight[kLaneElements] = {};
  for (; number < end; number += kWarps) {
    const int head = static_cast<int>(number % b.heads.count);
    const bool query = head < b.heads.queries;
    T* d = b.dqkv + number / b.heads.count * b.heads.width + head * b.heads.dim;
    const T* weight = query ? b.q_weight : b.k_weight;
    const float rstd = b.rstd[number];
    float z[kLaneElements];
    float dz[kLaneElements];
    float along_z = 0;
#pragma unroll
    for (int k = 0; k < kLaneElements; ++k) {
      const int c = lane + k * kWarp;
      z[k] = dz[k] = 0;
      if (c >= b.heads.dim) continue;
      z[k] = load_floats<T, 1>(b.x + number * b.heads.dim + c)[0] * rstd;
      dz[k] = load_floats<T, 1>(d + c)[0];
      (query ? dq_weight[k] : dk_weight[k]) += dz[k] * z[k];
      dz[k] *= load_floats<T, 1>(weight + c)[0];
      along_z += dz[k] * z[k];
    }
    along_z = warp_sum(along_z) * inverse_dim;
#pragma unroll
    for (int k = 0; k < kLaneElements; ++k) {
      const int c = lane + k * kWarp;
      if (c >= b.heads.dim) continue;
      store_floats<T, 1>(d + c, Floats<1>{rstd * (dz[k] - z[k] * along_z)});
    }
  }
  if (b.partials == nullptr) return;
  float* to = b.partials + group * b.heads.dim;
  write_group(dq_weight, b.heads.dim, shared, to);
  write_group(dk_weight, b.heads.dim, shared, to + groups * b.heads.dim);
}

}  // namespace

void launch(const HeadNormForward& op, cudaStream_t stream) {
  const Heads heads = heads_of(op.shape);
  with_element(op.qkv.format(), [&](auto element) {
    using T = decltype(element);
    const Forward<T> forward = {heads,
                                op.qkv.as<T>(),
                                op.q_weight.as<T>(),
                                op.k_weight.as<T>(),
                                op.x == nullptr ? nullptr : op.x->as<T>(),
                                op.rstd == nullptr ? nullptr : op.rstd->as<float>(),
                                op.eps};
    const auto blocks = static_cast<unsigned>(ceil_divide(heads.tokens * heads.count, kWarps));
    start({"head_norm_forward", blocks, dim3(kWarp, kWarps), stream, 0, true}, head_norm_forward<T>,
          forward);
  });
}

void launch(const HeadNormBackward& op, cudaStream_t stream) {
  const Heads heads = heads_of(op.shape);
  expect(op.dq_weight == nullptr ||
             op.partials->shape() == head_norm_partials_shape(heads.tokens, heads.dim),
         "head_norm_backward: partials are not head_norm_partials_shape");
  const std::int64_t groups = column_sum_groups(heads.tokens);
  with_element(op.x.format(), [&](auto element) {
    using T = decltype(element);
    const Backward<T> backward = {heads,
                                  op.x.as<T>(),
                                  op.rstd.as<float>(),
                                  op.q_weight.as<T>(),
                                  op.k_weight.as<T>(),
                                  op.dqkv.as<T>(),
                                  op.partials == nullptr ? nullptr : op.partials->as<float>()};
    start({"head_norm_backward", static_cast<unsigned>(groups), dim3(kWarp, kWarps), stream},
          head_norm_backward<T>, backward);
  });
  if (op.dq_weight == nullptr) return;
  sum_partials(op.partials->as<float>(), groups, {op.dq_weight, op.accumulate_dq_weight},
               {op.dk_weight, op.accumulate_dk_weight}, stream);
}

}  // namespace vramfit
