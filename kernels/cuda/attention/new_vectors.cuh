#pragma once

#include "kernels/cuda/attention/decode_tile.cuh"
#include "kernels/cuda/layers/rotary.cuh"

// What a block of a cluster's decoding makes of the new token's qkv.

namespace vramfit::gpu {

/// The new token's vectors of a key/value head: query heads, turned as RotaryEmbedding does it, and
/// what is appended.
template <typename T, int kDim>
struct NewVectors {
  /// Neighbouring rows begin in different banks.
  T rows[kTileHeads + 2][kDim + 8];

  __device__ const T* query(int head) const { return rows[head]; }
  __device__ const T* key() const { return rows[kTileHeads]; }
  __device__ const T* value() const { return rows[kTileHeads + 1]; }
};

/// A thread's part of them: two pairs of each of some vectors.
template <typename T, int kDim>
class VectorTurner {
 public:
  /// Finds the turns, which nothing before this kernel has a part in.
  __device__ VectorTurner(const Frequencies& frequencies, int position, bool turns) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      turns_[i] = turns ? cosine_and_sine(position, frequencies.inverse[pair() + i]) : float2{1, 0};
    }
  }

  /// Asks for the vectors of the block: its query heads, and k and v where it appends them.
  __device__ void load(const Decode<T, T>& d, const DecodeBlock& own, bool appends) {
    const int rows = own.heads + (appends ? 2 : 0);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (row(i) >= rows) continue;
      const T* from = own.qkv(d) + std::int64_t{head(d, own, row(i))} * kDim + pair();
      words_[i] = {word(from), word(from + kDim / 2)};
    }
  }
  /// Turns them; leaves k where qkv and the cache have it, v in the cache.
  __device__ void store(const Decode<T, T>& d, const DecodeBlock& own, int position, bool appends,
                        NewVectors<T, kDim>& vectors) {
    const int rows = own.heads + (appends ? 2 : 0);
    const std::int64_t place = appends ? d.places(own.b, position, own.kv_head) * kDim : 0;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (row(i) >= rows) continue;
      const int appended = row(i) - own.heads;  // 0: k, 1: v
      if (appended < 1) turn(words_[i]);
      put(vectors.rows[appended < 0 ? row(i) : kTileHeads + appended], words_[i]);
      if (appended == 0) {
        put(own.qkv(d) + std::int64_t{head(d, own, row(i))} * kDim, words_[i]);
        put(d.keys + place, words_[i]);
      } else if (appended == 1) {
        put(d.values + place, words_[i]);
      }
    }
  }

 private:
  static constexpr int kThreads = kDim / 4;  ///< of a vector
  static constexpr int kAtOnce = kDecodeThreads / kThreads;
  static constexpr int kVectors = (kTileHeads + 2 + kAtOnce - 1) / kAtOnce;

  __device__ static int pair() { return static_cast<int>(threadIdx.x) % kThreads * 2; }
  __device__ static int row(int i) {
    return static_cast<int>(threadIdx.x) / kThreads + i * kAtOnce;
  }
  /// The row's head of qkv.
  __device__ static int head(const Decode<T, T>& d, const DecodeBlock& own, int row) {
    if (row < own.heads) return own.first_head + row;
    return d.heads + (row - own.heads) * d.kv_heads + own.kv_head;
  }
  __device__ static std::uint32_t word(const T* from) {
    return *reinterpret_cast<const std::uint32_t*>(from);
  }
  __device__ void turn(uint2& words) const {
    float low[2];
    float high[2];
    unpack(words.x, low, T{});
    unpack(words.y, high, T{});
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float turned = low[i] * turns_[i].x - high[i] * turns_[i].y;
      high[i] = high[i] * turns_[i].x + low[i] * turns_[i].y;
      low[i] = turned;
    }
    words = {packed(low, T{}), packed(high, T{})};
  }
  __device__ static void put(T* vector, const uint2& words) {
    *reinterpret_cast<std::uint32_t*>(vector + pair()) = words.x;
    *reinterpret_cast<std::uint32_t*>(vector + pair() + kDim / 2) = words.y;
  }

  float2 turns_[2];
  uint2 words_[kVectors];
};

}  // namespace vramfit::gpu
