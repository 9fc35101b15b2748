#pragma once

#include "kernels/cuda/attention/kv_places.cuh"
#include "kernels/cuda/attention/kv_store.cuh"
#include "kernels/cuda/layers/rotary.cuh"

namespace vramfit::gpu {

/// RotaryAppend, as kernels are given it.
template <typename T>
struct RotaryAppended {
  T* qkv = nullptr;
  KvPlaces places;
  KvPointers cache;
  const std::int32_t* starts = nullptr;
  int batch = 0;
  int heads = 0;
  int pairs = 0;

  RotaryAppended() = default;
  explicit RotaryAppended(const RotaryAppend& op)
      : qkv(op.qkv.as<T>()),
        places(op.cache),
        cache(op.cache),
        starts(integers_of(&op.starts)),
        batch(static_cast<int>(op.shape.batch)),
        heads(static_cast<int>(op.shape.heads)),
        pairs(static_cast<int>(op.shape.head_dim / 2)) {
    expect(op.shape.seq == 1 && 2 * op.frequencies.pairs == op.shape.head_dim,
           "rotary_append: one token a sequence, whose heads are turned whole");
  }
  __host__ __device__ int all_heads() const { return heads + 2 * places.kv_heads; }
};

/// A warp turns a head of q or k, and stores one of k or v. `index`: of the heads of q, k and v of
/// each token. `starts`: r's, or a copy. `inverse`: of Frequencies.
template <typename Stored, typename T>
__device__ void rotate_and_append(const RotaryAppended<T>& r, const std::int32_t* starts,
                                  const float* inverse, int index) {
  /// Pairs of a head that a lane may have.
  constexpr int kLanePairs = kMostPairs / kWarp;
  const int kv_heads = r.places.kv_heads;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int b = index / r.all_heads();
  const int head = index % r.all_heads();
  const bool rotated = head < r.heads + kv_heads;
  const int position = starts[b];
  T* low = r.qkv + std::int64_t{index} * 2 * r.pairs;
  T* high = low + r.pairs;
  Floats<2 * kLanePairs> values;
#pragma unroll
  for (int i = 0; i < kLanePairs; ++i) {
    const int pair = lane + i * kWarp;
    if (pair >= r.pairs) continue;
    float a = to_float(low[pair]);
    float c = to_float(high[pair]);
    if (rotated) {
      const float2 turn = cosine_and_sine(position, inverse[pair]);
      low[pair] = from_float<T>(a * turn.x - c * turn.y);
      high[pair] = from_float<T>(c * turn.x + a * turn.y);
      a = to_float(low[pair]);
      c = to_float(high[pair]);
    }
    values[2 * i] = a;
    values[2 * i + 1] = c;
  }
  if (head < r.heads) return;
  const int slot = head - r.heads;
  const std::int64_t place = r.places(b, position, slot % kv_heads);
  // A lane's i-th element: of its pairs in turn the lower and the higher.
  const auto column = [&](int i) { return lane + i / 2 * kWarp + i % 2 * r.pairs; };
  const auto there = [&](int i) { return lane + i / 2 * kWarp < r.pairs; };
  KvHeads<Stored>(r.cache).store(slot < kv_heads, place, 2 * r.pairs, values, column, there);
}

}  // namespace vramfit::gpu
