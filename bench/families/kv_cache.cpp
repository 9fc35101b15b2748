#include "bench/families/memory_row.h"
#include "bench/rows/families.h"
#include "model/checked.h"

namespace vramfit::bench {
namespace {

/// Positions that the cache has room for, and those of them that a sequence fills.
struct Positions {
  std::int64_t there = 0;
  std::int64_t filled = 0;
};

Positions positions_of(const GenerationOptions& options) {
  Positions positions;
  for (const std::int64_t prompt : prompt_lengths(options)) {
    const std::int64_t filled = prompt + options.generate - 1;
    positions.filled += filled;
    positions.there += options.block == 0 ? options.positions() : round_up(filled, options.block);
  }
  return positions;
}

}  // namespace

/// The run of an Inference row, looked at for its cache: bytes a position, and those that no
/// sequence fills.
Result run_kv_cache(const Case& c, const RunApart&) {
  const GenerationOptions options = generation_options(c);
  Result result = run_memory_row(c, options);
  count_article_formula(result.counters, c);
  const Positions positions = positions_of(options);
  for (const std::string prefix : {"pred", "mem"}) {
    const auto& values = result.counters.values();
    const auto cache = values.find(prefix + "_kv_cache");
    if (cache == values.end()) continue;
    const double each = cache->second / static_cast<double>(positions.there);
    const double waste = each * static_cast<double>(positions.there - positions.filled);
    result.counters.set(prefix + "_kv_bytes_per_token", each);
    result.counters.set(prefix + "_kv_waste", waste);
  }
  return result;
}

}  // namespace vramfit::bench
