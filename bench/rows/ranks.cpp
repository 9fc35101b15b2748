#include "bench/rows/ranks.h"

#include <algorithm>
#include <utility>

namespace vramfit::bench {
namespace {

bool takes_least(const std::string& counter) {
  return counter == "ledger_equal" || counter.ends_with("_per_second");
}

}  // namespace

Result of_ranks(std::vector<Result> ranks) {
  Result all = std::move(ranks.front());
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    for (const auto& [counter, value] : ranks[rank].counters.values()) {
      const auto known = all.counters.values().find(counter);
      const double so_far = known == all.counters.values().end() ? value : known->second;
      all.counters.set(counter,
                       takes_least(counter) ? std::min(so_far, value) : std::max(so_far, value));
    }
    all.seconds = std::max(all.seconds, ranks[rank].seconds);
  }
  return all;
}

}  // namespace vramfit::bench
