#include "tests/model/memory/replay.h"

#include <algorithm>

namespace vramfit {

Replay replay(const std::vector<Event>& events) {
  Replay result;
  StageRecord open{};
  for (const Event& event : events) {
    switch (event.kind) {
      case Event::Kind::StageBegin:
        open = StageRecord{};
        open.stage = event.stage;
        open.step = event.step;
        open.before = open.peak = result.current.total();
        open.peak_reserved = event.reserved;
        break;
      case Event::Kind::StageEnd:
        open.after = result.current.total();
        open.at_end = result.current;
        open.reserved = event.reserved;
        result.stages.push_back(open);
        break;
      case Event::Kind::Allocate:
        result.current[event.category] += event.bytes;
        break;
      case Event::Kind::Free:
        result.current[event.category] -= event.bytes;
        break;
      case Event::Kind::OutOfMemory:
        open.out_of_memory = true;
        break;
      case Event::Kind::Relabel:  // the step program has none
        break;
    }
    open.peak_reserved = std::max(open.peak_reserved, event.reserved);
    const std::uint64_t total = result.current.total();
    open.peak = std::max(open.peak, total);
    if (total > result.peak) {
      result.peak = total;
      result.at_peak = result.current;
      result.peak_stage = event.stage;
      result.peak_step = event.step;
    }
  }
  return result;
}

}  // namespace vramfit
