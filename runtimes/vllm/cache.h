#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/vllm/options.h"
#include "runtimes/vllm/shape.h"

// What vLLM makes its cache of: vllm/v1/core/kv_cache_utils.py and v1/kv_cache_interface.py.
namespace vramfit::vllm {

/// Layers that share a block table.
struct CacheGroup {
  Keeps keeps = Keeps::All;
  std::int64_t window = 0;
  std::int64_t block = 0;   ///< tokens
  std::int64_t states = 0;  ///< that a request has, whatever its length
};

struct Cache {
  std::vector<CacheGroup> groups;
  std::uint64_t block_bytes = 0;  ///< of all layers
  std::int64_t in_flight = 0;     ///< tokens that may be scheduled and not yet settled

  std::int64_t blocks_in(std::int64_t available) const;
  /// That a request of that length has to have at most.
  std::int64_t blocks_of(std::int64_t length) const;
  /// The longest request that has room in so many blocks, of `at_most` tokens; 0: not even one.
  std::int64_t longest(std::int64_t blocks, std::int64_t at_most) const;
};

/// Of what is cached whole, tokens of a block, before pages of several kinds are made alike
/// (AttentionBackend.get_preferred_block_size: FlashMLA's tables are of 64 tokens).
std::int64_t block_of(const Shape& shape, const Options& options, int sm);

/// Of a stage of the model: layers are grouped as those of all stages are. `batched_tokens`: as it
/// was settled.
Cache cache_of(const Shape& model, const Shape& stage, const Options& options,
               std::int64_t batched_tokens, int sm);

}  // namespace vramfit::vllm
