#include <fmt/format.h>

#include <algorithm>

#include "bench/compare/change_text.h"
#include "bench/compare/report.h"
#include "model/printable.h"
#include "model/quantity.h"

namespace vramfit::bench::compare {
namespace {

/// Counters of a row, and kinds of tensors of a ledger, that are shown; what follows is counted.
constexpr std::size_t kShown = 8;
constexpr Status kStatuses[] = {Status::Same,       Status::Better, Status::Worse,
                                Status::Gone,       Status::Added,  Status::NotComparable,
                                Status::NotMeasured};

std::string run_text(const char* which, const RunFile& run) {
  return fmt::format("{} {}: {}, driver {}, CUDA {}, cuDNN {}, commit {}, {} rows\n", which,
                     printable(run.path.string()), run.fact("device"), run.fact("driver"),
                     run.fact("cuda"), run.fact("cudnn"), run.fact("commit"), run.rows.size());
}

std::string counters_text(const RowChange& row, bool all) {
  std::string text;
  std::size_t shown = 0;
  std::size_t differ = 0;
  for (const Change& change : row.changes) {
    if (!all && !change.differs) continue;
    ++differ;
    if (!all && shown == kShown) continue;
    ++shown;
    text += fmt::format("  {} {:<34}{:>19}{:>19}   {}\n", change.worse ? '!' : ' ', change.counter,
                        value_text(change, change.before), value_text(change, change.after),
                        change_text(change));
  }
  return shown == differ ? text
                         : text + fmt::format("    and {} counters more (--all)\n", differ - shown);
}

std::string tensors_text(const MovedTensors& tensors) {
  return fmt::format("{}, {} of step {}: {}, {:+} allocations, {}", name(tensors.category),
                     name(tensors.stage), tensors.step, tensors.tensor, tensors.count,
                     bytes_change(tensors.bytes));
}

std::string moved_text(const Moved& moved, bool all) {
  const auto or_end = [](const std::string& event) { return event.empty() ? "the end" : event; };
  std::string text = fmt::format("    the ledgers part at event {}:\n      OLD {}\n      NEW {}\n",
                                 moved.event, or_end(moved.before), or_end(moved.after));
  std::size_t shown = 0;
  for (const MovedTensors& tensors : moved.tensors) {
    if (!all && shown == kShown) break;
    ++shown;
    text += "    " + tensors_text(tensors) + "\n";
  }
  const std::size_t more = moved.tensors.size() - shown;
  return more == 0 ? text : text + fmt::format("    and {} kinds of tensors more (--all)\n", more);
}

std::string row_text(const Report& report, const RowChange& row, bool all) {
  std::string text = fmt::format("{:<19} {}{}\n", name(row.status), printable(row.row),
                                 row.why.empty() ? "" : ": " + printable(row.why));
  text += counters_text(row, all);
  const std::string used = device_used_text(row);
  if (!used.empty()) text += "    " + used + "\n";
  const auto moved = report.moved.find(row.row);
  return moved == report.moved.end() ? text : text + moved_text(moved->second, all);
}

std::string shares_text(const std::vector<Share>& shares) {
  std::string text;
  for (const Share& share : shares) {
    if (share.before == share.after) continue;
    const auto bytes = static_cast<std::int64_t>(share.after - share.before);
    text += fmt::format("  {:<20}{:>15}{:>15}   {}\n", share.part,
                        grouped(static_cast<std::int64_t>(share.before)),
                        grouped(static_cast<std::int64_t>(share.after)), bytes_change(bytes));
  }
  return text.empty() ? text : "beside tensors, by the profiles, B\n" + text + "\n";
}

std::string times_lines(const Report& report) {
  std::string text;
  for (const TimeChange& time : time_changes(report)) {
    text += fmt::format("  {:<28}{:>5} rows{:>9.3f}{:>9.3f}{:>9.3f}\n", time.counter, time.rows,
                        time.ratio.lower, time.ratio.median, time.ratio.upper);
  }
  if (text.empty()) return text;
  const std::string gate = report.rules.slower ? fmt::format("worse by more than {:.3g} % counts",
                                                             100 * *report.rules.slower)
                                               : "they count only with --slower";
  return "times and rates, NEW over OLD: lower quartile, median, upper quartile; " + gate + "\n" +
         text + "\n";
}

std::string counts_text(const Report& report) {
  if (report.comparison.rows.empty()) return "no rows";
  std::string text;
  for (const Status status : kStatuses) {
    const std::size_t rows = report.comparison.count(status);
    if (rows == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", rows, name(status));
  }
  const std::size_t predictions = report.comparison.count_predictions();
  if (!compares_anything(report.comparison)) text += "; nothing that counts is in both";
  if (predictions > 0)
    text += fmt::format("; of the same, {} are predicted otherwise (--all)", predictions);
  return text;
}

}  // namespace

std::string table_text(const Report& report, bool all) {
  std::string text = run_text("OLD", report.before) + run_text("NEW", report.after);
  for (const FactChange& fact : report.facts) {
    text +=
        fmt::format("  {}: {}, now {}\n", fact.fact, printable(fact.before), printable(fact.after));
  }
  text += "\n";
  bool any = false;
  for (const RowChange& row : report.comparison.rows) {
    const bool quiet = row.status == Status::Same || row.status == Status::Added;
    if (quiet && !all) continue;
    text += row_text(report, row, all);
    any = true;
  }
  if (any) text += "\n";
  text += shares_text(report.shares) + times_lines(report);
  const Tolerances& may = report.rules.tolerances;
  text += fmt::format("{}: {}", report.passes ? "SAME OR BETTER" : "WORSE", counts_text(report));
  if (may.reserved + may.device_used == 0) return text + "; bytes are compared exactly\n";
  return text + fmt::format("; reserved may differ by {} B, device used by {} B\n", may.reserved,
                            may.device_used);
}

}  // namespace vramfit::bench::compare
