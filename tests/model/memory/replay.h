#pragma once

#include <cstdint>
#include <vector>

#include "model/memory/ledger.h"

namespace vramfit {

/// What a list of events adds up to, computed from nothing but the list.
struct Replay {
  CategoryBytes current;
  CategoryBytes at_peak;
  std::uint64_t peak = 0;
  Stage peak_stage = Stage::Outside;
  int peak_step = 0;
  std::vector<StageRecord> stages;  ///< `reserved` and `out_of_memory` as the events say
};

Replay replay(const std::vector<Event>& events);

}  // namespace vramfit
