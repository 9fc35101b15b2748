#include "bench/families/memory_row.h"
#include "bench/rows/families.h"

namespace vramfit::bench {

/// The run of an Inference row, looked at for its cache: bytes a token and sequence.
Result run_kv_cache(const Case& c, const RunApart&) {
  const GenerationOptions options = generation_options(c);
  Result result = run_memory_row(c, options);
  count_article_formula(result.counters, c);
  const auto places = static_cast<double>(options.batch * options.positions());
  for (const char* prefix : {"pred", "mem"}) {
    const auto& values = result.counters.values();
    const auto cache = values.find(prefix + std::string("_kv_cache"));
    if (cache == values.end()) continue;
    result.counters.set(prefix + std::string("_kv_bytes_per_token"), cache->second / places);
  }
  return result;
}

}  // namespace vramfit::bench
