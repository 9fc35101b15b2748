#include "bench/rows/ranks.h"

#include <algorithm>
#include <utility>

#include "bench/counters/counter.h"

namespace vramfit::bench {
namespace {

double value_of(const Result& result, const char* counter) {
  const auto& values = result.counters.values();
  const auto found = values.find(counter);
  return found == values.end() ? 0 : found->second;
}

/// Which takes most of its card.
bool takes_less(const Result& a, const Result& b) {
  for (const char* counter : {"mem_device_used", "mem_reserved", "pred_device_used"}) {
    if (value_of(a, counter) != value_of(b, counter)) {
      return value_of(a, counter) < value_of(b, counter);
    }
  }
  return false;
}

}  // namespace

Result of_ranks(std::vector<Result> ranks) {
  const auto fullest = std::ranges::max_element(ranks, takes_less);
  Result all = *fullest;
  all.ledger = std::move(ranks.front().ledger);
  for (const Result& rank : ranks) {
    for (const auto& [counter, value] : rank.counters.values()) {
      const auto known = all.counters.values().find(counter);
      const double so_far = known == all.counters.values().end() ? value : known->second;
      const Rank whose = counter_called(counter).rank;
      if (whose == Rank::Least) all.counters.set(counter, std::min(so_far, value));
      if (whose == Rank::Most) all.counters.set(counter, std::max(so_far, value));
    }
    all.seconds = std::max(all.seconds, rank.seconds);
  }
  return all;
}

}  // namespace vramfit::bench
