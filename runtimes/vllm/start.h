#pragma once

#include <cstdint>
#include <string>

#include "runtimes/gpu.h"
#include "runtimes/vllm/cache.h"
#include "runtimes/vllm/options.h"
#include "runtimes/vllm/profile.h"
#include "runtimes/vllm/shape.h"

namespace vramfit::vllm {

/// What a start of vLLM counts on its card, and what it makes of the rest. Bytes, where nothing
/// else is said.
struct Start {
  Batch batch;
  std::int64_t length = 0;  ///< of the longest request that it takes, tokens
  // Of the card, as it finds it:
  std::uint64_t total = 0;
  std::uint64_t context = 0;    ///< its own, which is there before it looks
  std::uint64_t peers = 0;      ///< what ranks reach each other by, which is there as well
  std::uint64_t free = 0;       ///< before it takes anything
  std::uint64_t requested = 0;  ///< its budget
  // What it counts:
  std::uint64_t weights = 0;
  std::uint64_t activations = 0;  ///< the profile run's
  std::uint64_t outside = 0;      ///< of PyTorch: what driver and libraries take beside the context
  std::uint64_t counted_buffers = 0;  ///< of its runner, by releases that count them
  std::uint64_t graphs = 0;           ///< estimated before they are captured
  std::int64_t available = 0;         ///< to its cache
  Cache cache;
  std::int64_t blocks = 0;   ///< in it
  std::int64_t needed = 0;   ///< blocks of the requests that it is to hold at once
  std::int64_t longest = 0;  ///< request that has room, at most the model's
  // What it does not count:
  std::uint64_t buffers = 0;     ///< of its runner: sampler's, requests', block tables
  std::uint64_t graph_pool = 0;  ///< what graphs' kernels work on
  std::uint64_t graph_code = 0;  ///< what the driver keeps of them
  std::uint64_t sampling = 0;    ///< what its warm-up leaves in PyTorch's cache
  std::uint64_t working = 0;     ///< a full batch's, with the gaps between its tensors
  std::string refusal;           ///< in its words; empty: it starts

  bool refused() const { return !refusal.empty(); }
  std::uint64_t cached() const { return cache.block_bytes * static_cast<std::uint64_t>(blocks); }
  /// Of PyTorch's, when it is ready, and when it has served.
  std::uint64_t reserved_at_rest() const;
  std::uint64_t reserved_serving() const;
  /// Beyond its budget, where it is: of the card, with its context.
  std::int64_t beyond(std::uint64_t reserved) const;
  double concurrency() const;
};

/// Throws BadInput where it cannot be started so on any card.
Start start_of(const Shape& shape, const Options& options, const Gpu& gpu);

}  // namespace vramfit::vllm
