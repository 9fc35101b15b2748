#pragma once

#include "kernels/cuda/attention/decode_tile.cuh"
#include "kernels/cuda/base/cluster.cuh"

// How a cluster whose blocks have each a split of the positions puts them together: a block has
// some of the columns of all heads, of which the others send it what they have.

namespace vramfit::gpu {

/// Of a cluster, a power of two; fewer than two are no cluster.
inline constexpr int kFewestBlocks = 2;
inline constexpr int kMostBlocks = 8;

/// In shared memory.
struct SplitStates {
  Inbox inbox;
  float largest[kTileHeads][kMostBlocks];  ///< score of each split
  float sums[kTileHeads][kMostBlocks];     ///< and sum of exponentials
};

template <int kDim>
class SplitExchange {
 public:
  /// `received`: shared memory, (splits, heads, columns).
  __device__ SplitExchange(SplitStates& states, float* received, const DecodeBlock& own, int splits,
                           int column_bits)
      : states_(states),
        received_(received),
        heads_(own.heads),
        split_(own.split),
        splits_(splits),
        column_bits_(column_bits),
        columns_(1 << column_bits),
        elements_(own.heads * columns_) {}

  /// By one thread, before tell_cluster.
  __device__ void open() {
    states_.inbox.open(splits_ * (elements_ + 2 * heads_) * static_cast<int>(sizeof(float)));
  }

  /// Sends what the block's warps left, see SplitElement, to those who put it together. All threads
  /// do this, after wait_for_cluster.
  __device__ void send(const WarpStates* warps, const float* outputs) {
    for (int i = static_cast<int>(threadIdx.x); i < heads_ * kDim; i += kDecodeThreads) {
      const int h = i / kDim;
      const int column = i % kDim;
      const SplitElement element(warps, outputs, heads_, kDim, h, column);
      const int place = split_ * elements_ + (h << column_bits_) + (column & (columns_ - 1));
      states_.inbox.send(received_[place], column >> column_bits_, element.out);
      if (column < splits_) {
        states_.inbox.send(states_.largest[h][split_], column, element.largest);
        states_.inbox.send(states_.sums[h][split_], column, element.sum);
      }
    }
  }
  /// Until all splits have sent.
  __device__ void wait() { states_.inbox.wait(); }

  /// Writes the block's columns of `out`, (heads, d).
  template <typename T>
  __device__ void combine(T* out) const {
    for (int i = static_cast<int>(threadIdx.x); i < elements_; i += kDecodeThreads) {
      const int h = i >> column_bits_;
      float largest = kLowest;
#pragma unroll
      for (int s = 0; s < kMostBlocks; ++s) {
        if (s < splits_) largest = fmaxf(largest, states_.largest[h][s]);
      }
      float sum = 0;
      float weighted = 0;
#pragma unroll
      for (int s = 0; s < kMostBlocks; ++s) {
        if (s >= splits_) continue;
        const float factor = power_of_two(states_.largest[h][s] - largest);
        sum += factor * states_.sums[h][s];
        weighted += factor * received_[s * elements_ + i];
      }
      out[h * kDim + (split_ << column_bits_) + (i & (columns_ - 1))] =
          from_float<T>(weighted / sum);
    }
  }

 private:
  SplitStates& states_;
  float* received_;
  int heads_;
  int split_;
  int splits_;
  int column_bits_;
  int columns_;   ///< that a block has
  int elements_;  ///< and of all heads
};

}  // namespace vramfit::gpu
