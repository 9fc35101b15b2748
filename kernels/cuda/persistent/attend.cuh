#pragma once

#include "kernels/cuda/persistent/program.cuh"

// A sequence's attention by all blocks, each part one of a program's phases.

namespace vramfit::gpu {

/// Query heads that a unit of attention takes: more would want registers that linears need.
inline constexpr int kUnitHeads = 2;

/// Calls `body` with a value of the type that the cache's elements have.
template <typename T, typename Body>
__device__ void with_cache_elements(CacheElements elements, const Body& body) {
  if (elements == CacheElements::Activations) {
    body(T{});
  } else if (elements == CacheElements::Int8) {
    body(std::int8_t{});
  } else {
    body(__nv_fp8_e4m3{});
  }
}

/// Brings a cache into L2 while others compute: beside the weights it would come late.
template <typename Stored, typename T>
__device__ __noinline__ void prefetch_cache(const Decode<T>& d, int length) {
  constexpr int kLine = 128;
  /// What L2 has room for beside a layer's weights.
  constexpr int kMostBytes = 16 << 20;
  const int row = d.kv_heads * d.head_dim * static_cast<int>(sizeof(Stored));
  length = min(length, kMostBytes / 2 / row);
  const int warps = static_cast<int>(blockDim.x) / kWarp * static_cast<int>(gridDim.x);
  const int warp = static_cast<int>(threadIdx.x) / kWarp * static_cast<int>(gridDim.x) +
                   static_cast<int>(blockIdx.x);
  for (int position = warp; position < length; position += warps) {
    const std::int64_t first = d.places(0, position, 0) * d.head_dim;
    const auto bytes_of = [first](const void* cache) {
      return reinterpret_cast<const std::uint8_t*>(static_cast<const Stored*>(cache) + first);
    };
    for (int at = static_cast<int>(threadIdx.x) % kWarp * kLine; at < row; at += kWarp * kLine) {
      prefetch(bytes_of(d.cache.keys) + at);
      prefetch(bytes_of(d.cache.values) + at);
    }
  }
}

/// Warps take heads of q, k and v in turn.
template <typename Stored, typename T>
__device__ __noinline__ void rotate_heads(const RotaryAppended<T>& r, const std::int32_t* starts,
                                          const float* inverse) {
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int all = r.batch * r.all_heads();
  for (int head = warp * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x); head < all;
       head += warps * static_cast<int>(gridDim.x)) {
    rotate_and_append<Stored>(r, starts, inverse, head);
  }
}

/// Groups of the block's warps take units in turn. `outputs`: (groups, kDecodeWarps, heads of a
/// unit, d).
template <typename Stored, int kHeads, typename T>
__device__ __noinline__ void attend(const Decode<T>& d, const std::int32_t* starts,
                                    WarpStates* states, float* outputs) {
  const int groups = static_cast<int>(blockDim.x) / kDecodeThreads;
  const int group = static_cast<int>(threadIdx.x) / kDecodeThreads;
  if (group == groups) return;  // the warps that are no whole group
  const int thread = static_cast<int>(threadIdx.x) % kDecodeThreads;
  const int units = d.kv_heads * d.group_blocks * d.splits;
  const auto barrier = [group] { named_barrier(1 + group, kDecodeThreads); };
  for (int unit = group * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x); unit < units;
       unit += groups * static_cast<int>(gridDim.x)) {
    decode_unit<Stored, kCachePack<T, Stored>, 1, kHeads>(
        d, starts, unit, thread, states + group * kHeads,
        outputs + group * kDecodeWarps * kHeads * d.head_dim, [] {}, barrier);
    barrier();
  }
}

/// Blocks take query heads in turn; a block's warps have each some columns of some splits.
/// `sums`: (warps, kWarp).
template <typename T>
__device__ __noinline__ void combine(const Decode<T>& d, float* sums) {
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int across = (d.head_dim + kWarp - 1) / kWarp;
  const int groups = warps / across;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int column = min(warp % across * kWarp + lane, d.head_dim - 1);
  for (int head = static_cast<int>(blockIdx.x); head < d.heads;
       head += static_cast<int>(gridDim.x)) {
    const SplitFactors factors(d.partial_sums + head * d.splits, d.splits);
    const float* from = d.partial + head * d.splits * d.head_dim + column;
    float sum = 0;
    if (warp < groups * across) {
#pragma unroll 4
      for (int split = warp / across; split < d.splits; split += groups) {
        sum += factors.of(split) * from[split * d.head_dim];
      }
    }
    sums[warp * kWarp + lane] = sum;
    __syncthreads();
    if (warp < across) {
      for (int group = 1; group < groups; ++group) {
        sum += sums[(group * across + warp) * kWarp + lane];
      }
      d.out[head * d.head_dim + column] = from_float<T>(sum / factors.sum());
    }
    __syncthreads();
  }
}

}  // namespace vramfit::gpu
