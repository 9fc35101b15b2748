#include "bench/counters.h"
#include "bench/families.h"
#include "bench/memory_row.h"

namespace vramfit::bench {
namespace {

void count_per_token(Counters& counters, const std::string& prefix, const RunReport& report,
                     const GenerationOptions& options) {
  const std::uint64_t cache = report.peak.by_category[Category::KvCache];
  counters.set(
      prefix + "_kv_bytes_per_token",
      static_cast<double>(cache) / static_cast<double>(options.batch * options.positions()));
}

}  // namespace

/// The run of an Inference row, looked at for its cache: bytes a token and sequence.
void run_kv_cache(::benchmark::State& state, const Case& c) {
  const GenerationOptions options = generation_options(c);
  const Outcome outcome = run_memory_row(state, c, options);
  Counters counters(state);
  count_per_token(counters, "pred", outcome.predicted, options);
  if (outcome.measured) count_per_token(counters, "mem", outcome.measured->report, options);
}

}  // namespace vramfit::bench
