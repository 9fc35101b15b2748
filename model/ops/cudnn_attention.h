#pragma once

#include <cstdint>

namespace vramfit {

/// An attention that cuDNN computes: query heads share keys by equal groups.
struct CudnnAttention {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t queries = 1;  ///< a row
  std::int64_t keys = 1;     ///< a row
  std::int64_t head_dim = 1;
  std::int64_t element = 2;  ///< bytes of one of queries, keys and values
};

// What the first plan of cuDNN 9.19's composite graph works in beside inputs and outputs. Bytes;
// read off 490 shapes on an H200 (data/reference/cudnn_attention.jsonl).

/// A single query a row goes over many keys in splits, each of which leaves its sums in fp32; one
/// that is not split works in nothing, more queries in a block that alone aligns.
std::uint64_t cudnn_forward_workspace(const CudnnAttention& attention, int multiprocessors);

/// What the engine adds to what the graph's own nodes ask for, dQ in fp32 and a sum for each row:
/// gradients of keys and values for every query head where heads share them.
std::uint64_t cudnn_backward_engine_workspace(const CudnnAttention& attention);

/// Both together.
std::uint64_t cudnn_backward_workspace(const CudnnAttention& attention);

}  // namespace vramfit
