#include "model/memory/kept_ledger.h"

namespace vramfit {

KeptLedger keep(const RunReport& report) {
  KeptLedger kept;
  kept.events.reserve(report.events.size());
  for (const Event& e : report.events) {
    kept.events.push_back({e.kind, e.stage, e.category, e.step, e.name.text(), e.bytes, e.offset,
                           e.reserved, e.requested});
  }
  kept.segments = report.segments;
  return kept;
}

}  // namespace vramfit
