#include "model/memory/run_report.h"

#include <algorithm>

namespace vramfit {

std::uint64_t RunReport::peak_of_step(int step) const {
  std::uint64_t peak_bytes = 0;
  for (const StageRecord& record : stages) {
    if (record.step == step) peak_bytes = std::max(peak_bytes, record.peak);
  }
  return peak_bytes;
}

RunReport report_of(const Ledger& ledger) {
  RunReport report;
  report.peak = ledger.peak();
  report.stages = ledger.stages();
  report.events = ledger.events();
  report.missing = ledger.missing();
  report.cost = ledger.allocations();
  report.reserved = ledger.reserved();
  for (const StageRecord& stage : report.stages) {
    report.reserved = std::max(report.reserved, stage.peak_reserved);
  }
  return report;
}

}  // namespace vramfit
