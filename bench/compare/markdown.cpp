#include <fmt/format.h>

#include <algorithm>

#include "bench/compare/causes.h"
#include "bench/compare/change_text.h"
#include "bench/compare/report.h"
#include "model/printable.h"

namespace vramfit::bench::compare {
namespace {

/// As a table's cell: nothing in it is markup.
std::string cell(const std::string& text) {
  std::string safe;
  for (const char c : printable(text)) {
    if (c == '|' || c == '<' || c == '`' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string rows_text(const Report& report) {
  std::string text;
  for (const RowChange& row : report.comparison.rows) {
    if (row.status == Status::Same) continue;
    const bool nothing_differs = std::none_of(row.changes.begin(), row.changes.end(),
                                              [](const Change& change) { return change.differs; });
    if (nothing_differs || !row.why.empty()) {
      text +=
          fmt::format("| {} | {} | | | | {} |\n", name(row.status), cell(row.row), cell(row.why));
    }
    for (const Change& change : row.changes) {
      if (!change.differs) continue;
      text += fmt::format("| {}{} | {} | {} | {} | {} | {} |\n", change.worse ? "⚠ " : "",
                          name(row.status), cell(row.row), cell(change.counter),
                          value_text(change, change.before), value_text(change, change.after),
                          change_text(change));
    }
  }
  return text;
}

/// What moved, one line a cause.
std::string causes_lines(const Report& report) {
  std::string text;
  std::size_t small = 0;
  bool worse = false;  // one of the small ones
  for (const Cause& cause : causes(report.comparison, report.rules, report.moved)) {
    if (is_small(cause)) {
      ++small;
      worse |= cause.worse;
      continue;
    }
    text += fmt::format("| {}{} | {} | {} |\n", cause.worse ? "⚠ " : "", size_text(cause),
                        cause.rows.size(), cell(cause.what));
  }
  if (small > 0) {
    text += fmt::format("| {}less than 512 B each | | {} others |\n", worse ? "⚠ " : "", small);
  }
  return text.empty() ? text : "\n| by | rows | what moved |\n|---:|---:|---|\n" + text;
}

std::string device_used_lines(const Report& report) {
  std::string text;
  for (const RowChange& row : report.comparison.rows) {
    const std::string used = device_used_text(row);
    if (!used.empty()) text += fmt::format("- {}: {}\n", cell(row.row), cell(used));
  }
  return text.empty() ? text : "\n" + text;
}

std::string times_text(const Report& report) {
  std::string text;
  for (const TimeChange& time : time_changes(report)) {
    text += fmt::format("| {} | {} | {:.3f} | {:.3f} | {:.3f} |\n", cell(time.counter), time.rows,
                        time.ratio.lower, time.ratio.median, time.ratio.upper);
  }
  if (text.empty()) return text;
  return "\n<details><summary>Times and rates, NEW over OLD</summary>\n\n"
         "| counter | rows | lower quartile | median | upper quartile |\n"
         "|---|---:|---:|---:|---:|\n" +
         text + "\n</details>\n";
}

std::string moved_text(const Report& report) {
  std::string text;
  for (const auto& [row, moved] : report.moved) {
    text += fmt::format("\n<details><summary>{}: what moved</summary>\n\n", cell(row));
    text += fmt::format("The ledgers part at event {}: {} (was: {}).\n\n", moved.event,
                        cell(moved.after.empty() ? "the end" : moved.after),
                        cell(moved.before.empty() ? "the end" : moved.before));
    text +=
        "| step | stage | category | tensor | allocations | bytes "
        "|\n|---:|---|---|---|---:|---:|\n";
    for (const MovedTensors& t : moved.tensors) {
      text += fmt::format("| {} | {} | {} | {} | {:+} | {} |\n", t.step, name(t.stage),
                          name(t.category), cell(t.tensor), t.count, bytes_change(t.bytes));
    }
    text += "\n</details>\n";
  }
  return text;
}

}  // namespace

std::string markdown_text(const Report& report) {
  std::string text =
      fmt::format("### GPU memory: {}\n\n", report.passes ? "same or better" : "worse");
  for (const FactChange& fact : report.facts) {
    text += fmt::format("- {}: {} → {}\n", fact.fact, cell(fact.before), cell(fact.after));
  }
  if (!report.facts.empty()) text += "\n";
  const std::string rows = rows_text(report);
  const std::size_t same = report.comparison.count(Status::Same);
  text +=
      fmt::format("{} of {} rows are the same{}.\n", same, report.comparison.rows.size(),
                  compares_anything(report.comparison) ? "" : "; nothing that counts is in both");
  text += causes_lines(report);
  if (!rows.empty()) {
    text +=
        "\n<details><summary>Row by row</summary>\n\n"
        "| | row | counter | old | new | difference |\n|---|---|---|---:|---:|---:|\n" +
        rows + device_used_lines(report) + "\n</details>\n";
  }
  return text + times_text(report) + moved_text(report);
}

}  // namespace vramfit::bench::compare
