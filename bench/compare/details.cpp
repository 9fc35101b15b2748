#include "bench/compare/details.h"

#include <fmt/format.h>

#include "bench/compare/change_text.h"
#include "bench/report/columns.h"
#include "model/printable.h"

namespace vramfit::bench::compare {
namespace {

std::string counters_text(const RowChange& row) {
  std::string text;
  for (const Change& change : row.changes) {
    text += fmt::format("  {} {:<33}{:>16}{:>16}  {}\n", change.worse ? '!' : ' ', change.counter,
                        value_text(change, change.before), value_text(change, change.after),
                        change_text(change));
  }
  return text;
}

std::string moved_text(const Moved& moved) {
  std::string text = parting_text("the ledgers", moved);
  for (const MovedTensors& tensors : moved.tensors) {
    text += wrapped(fmt::format("    {}, {} of step {}: {}, {:+} allocations, {}",
                                name(tensors.category), name(tensors.stage), tensors.step,
                                tensors.tensor, tensors.count, bytes_change(tensors.bytes)));
  }
  if (moved.more_steps != 0) {
    text += fmt::format("    {:+} steps until memory is steady\n", moved.more_steps);
  }
  return text;
}

std::string row_text(const Report& report, const RowChange& row) {
  std::string text = wrapped(fmt::format("{:<19} {}{}", name(row.status), printable(row.row),
                                         row.why.empty() ? "" : ": " + printable(row.why)));
  text += counters_text(row);
  const std::string used = device_used_text(row);
  if (!used.empty()) text += wrapped("    " + used);
  const auto moved = report.moved.find(row.row);
  return moved == report.moved.end() ? text : text + moved_text(moved->second);
}

}  // namespace

std::string details_text(const Report& report) {
  std::string text;
  for (const RowChange& row : report.comparison.rows) text += row_text(report, row);
  return text.empty() ? text : text + "\n";
}

std::string parting_text(const std::string& whose, const Moved& moved) {
  const auto or_end = [](const std::string& event) { return event.empty() ? "the end" : event; };
  return wrapped(fmt::format("  {} part at event {}:", whose, moved.event)) +
         wrapped("    OLD " + or_end(moved.before)) + wrapped("    NEW " + or_end(moved.after));
}

}  // namespace vramfit::bench::compare
