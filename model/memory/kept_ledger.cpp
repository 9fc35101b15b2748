#include "model/memory/kept_ledger.h"

namespace vramfit {

namespace {

std::vector<KeptEvent> keep(const std::vector<Event>& events) {
  std::vector<KeptEvent> kept;
  kept.reserve(events.size());
  for (const Event& e : events) {
    kept.push_back({e.kind, e.stage, e.category, e.step, e.name.text(), e.bytes, e.offset,
                    e.reserved, e.requested});
  }
  return kept;
}

}  // namespace

KeptLedger keep(const RunReport& report) {
  return {keep(report.events), report.segments, keep(report.host.events)};
}

}  // namespace vramfit
