#pragma once

#include <bit>

#include "kernels/cuda/base/dispatch.cuh"
#include "model/ops/attention_ops.h"

namespace vramfit::gpu {

/// Where a sequence's positions stand in the cache.
struct KvPlaces {
  const std::int32_t* table;  ///< null: each sequence has a block of its own
  std::int64_t block;         ///< positions in it; with a table a power of two
  int blocks;                 ///< of a sequence, in the table
  int shift;                  ///< block as a power of two
  int kv_heads;

  explicit KvPlaces(const KvBlocks& cache)
      : table(integers_of(cache.table)),
        block(cache.block()),
        blocks(cache.table == nullptr ? 1 : static_cast<int>(cache.table->shape()[1])),
        shift(std::countr_zero(static_cast<std::uint64_t>(block))),
        kv_heads(static_cast<int>(cache.keys.shape()[2])) {
    expect(table == nullptr || std::int64_t{1} << shift == block,
           "the cache's blocks are no power of two");
  }

  /// A position's head, counted over all blocks.
  __device__ std::int64_t operator()(std::int64_t b, std::int64_t position, int head) const {
    std::int64_t row = b * block + position;
    if (table != nullptr) {
      row = (std::int64_t{table[b * blocks + (position >> shift)]} << shift) +
            (position & (block - 1));
    }
    return row * kv_heads + head;
  }
};

/// Calls `body` with a value of the type that the cache's elements have, where activations are T. 8
/// bits go with activations of 16.
template <typename T, typename Body>
void with_stored(Format format, const Body& body) {
  if constexpr (sizeof(T) == 2) {
    if (with_code(format.element(), body)) return;
  }
  expect(!is_quantized(format), "a cache in 8 bits goes with activations in 16");
  body(T{});
}

}  // namespace vramfit::gpu
