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

std::optional<std::string> first_difference(const RunReport& a, const RunReport& b) {
  if (auto of_card = first_difference(a.events, b.events)) return of_card;
  auto of_host = first_difference(a.host.events, b.host.events);
  if (of_host) of_host->insert(0, "host memory, ");
  return of_host;
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
  if (const Ledger* host = ledger.host()) {
    // Stages alone are nothing.
    if (host->peak().allocated > 0) {
      report.host = {host->peak(), host->reserved(), host->events()};
    }
  }
  return report;
}

}  // namespace vramfit
