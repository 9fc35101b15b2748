#pragma once

#include <cstdint>
#include <string>

namespace vramfit {

/// What an engine that fills its share of a card counts, and what it makes of the rest. Bytes,
/// where nothing else is said.
struct Serving {
  std::uint64_t requested = 0;  ///< its share
  std::uint64_t weights = 0;
  std::uint64_t activations = 0;
  std::uint64_t outside = 0;   ///< what driver and libraries take once it looks
  std::uint64_t graphs = 0;    ///< as it estimates them
  std::int64_t available = 0;  ///< to its cache; negative: what it lacks
  std::uint64_t needed = 0;    ///< of that, for the requests that it is to hold
  std::int64_t blocks = 0;
  std::int64_t block_size = 0;  ///< tokens
  std::int64_t tokens = 0;      ///< in all
  double concurrency = 0;       ///< requests of the greatest length
  std::int64_t length = 0;      ///< that length, tokens
  std::int64_t longest = 0;     ///< that its cache would hold, tokens
  std::int64_t batched_tokens = 0;
  std::int64_t sequences = 0;
  /// What it takes beyond its share: when it is ready, and when it has served.
  std::int64_t beyond_at_rest = 0;
  std::int64_t beyond_serving = 0;
  /// Shares of the card: with room for one such request, and the most that leaves room for what
  /// goes beyond it; more than 1, or 0: none.
  double least_share = 0;
  double most_share = 0;
  std::string refusal;  ///< why it does not start, in its words; empty: it does
  std::string command;  ///< that starts it
};

}  // namespace vramfit
