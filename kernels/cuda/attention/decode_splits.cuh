#pragma once

#include "kernels/cuda/base/approximate.cuh"
#include "kernels/cuda/base/dispatch.cuh"
#include "model/ops/workspaces.h"

// A cache's splits, put together: by the cluster of blocks that had them, where they are few, else
// by a kernel that comes after.

namespace vramfit::gpu {

inline constexpr int kDecodeThreads = 128;
inline constexpr int kDecodeWarps = kDecodeThreads / kWarp;

/// Splits that one cluster has: as many as every GPU with clusters has room for.
inline constexpr int kClusterSplits = 8;

/// What each warp hands to the block for one head, and the block to its cluster.
struct DecodedHead {
  float largest[kDecodeWarps];
  float sum[kDecodeWarps];
  float block_largest;
  float block_sum;
};

/// Writes the outputs of a cluster's splits, which its blocks have in shared memory as they left
/// them: `outputs`, (heads, d), and `states`. Columns are the blocks' in turn.
template <typename T>
__device__ void combine_cluster(int split, int splits, int outs, int head_dim, const float* outputs,
                                const DecodedHead* states, T* out) {
  __syncwarp();
  cluster_barrier();
  const auto of_block = [](const float& shared, int block) {
    return __uint_as_float(word_of_block(&shared, block));
  };
  for (int i = split * kDecodeThreads + static_cast<int>(threadIdx.x); i < outs;
       i += splits * kDecodeThreads) {
    const DecodedHead& state = states[i / head_dim];
    float largest_of[kClusterSplits];
    float sum_of[kClusterSplits];
    float out_of[kClusterSplits];
    float largest = kLowest;
#pragma unroll
    for (int block = 0; block < kClusterSplits; ++block) {
      const bool there = block < splits;
      largest_of[block] = there ? of_block(state.block_largest, block) : kLowest;
      sum_of[block] = there ? of_block(state.block_sum, block) : 0.0F;
      out_of[block] = there ? of_block(outputs[i], block) : 0.0F;
      largest = fmaxf(largest, largest_of[block]);
    }
    float sum = 0;
    float total = 0;
#pragma unroll
    for (int block = 0; block < kClusterSplits; ++block) {
      const float factor = power_of_two(largest_of[block] - largest);
      sum += factor * sum_of[block];
      total += factor * out_of[block];
    }
    out[i] = from_float<T>(total / sum);
  }
  // No block's outputs go before the others have read them.
  __syncwarp();
  cluster_barrier();
}

/// One block per query head of a sequence, one thread per column; each warp's lanes have the
/// splits' factors.
template <typename T>
__global__ void combine_splits(const float* partial, const float2* sums, int splits, int head_dim,
                               T* out) {
  take_turn();
  const std::int64_t row = blockIdx.x;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  constexpr int kEach = static_cast<int>(kDecodeSplits) / kWarp;
  float2 own[kEach];
  float largest = kLowest;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int s = lane + i * kWarp;
    own[i] = s < splits ? sums[row * splits + s] : float2{kLowest, 0};
    largest = fmaxf(largest, own[i].x);
  }
  largest = warp_max(largest);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    own[i].x = power_of_two(own[i].x - largest);
    sum += own[i].x * own[i].y;
  }
  sum = warp_sum(sum);
  const int column = static_cast<int>(threadIdx.x);
  const float* from = partial + row * splits * head_dim + min(column, head_dim - 1);
  float total = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
#pragma unroll 8
    for (int s = i * kWarp; s < min(splits, (i + 1) * kWarp); ++s) {
      total += __shfl_sync(kWholeWarp, own[i].x, s % kWarp) * from[s * head_dim];
    }
  }
  if (column < head_dim) out[row * head_dim + column] = from_float<T>(total / sum);
}

}  // namespace vramfit::gpu
