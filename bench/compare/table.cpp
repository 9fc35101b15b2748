#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/compare/causes.h"
#include "bench/compare/change_text.h"
#include "bench/compare/details.h"
#include "bench/compare/device_parts.h"
#include "bench/compare/report.h"
#include "bench/report/columns.h"
#include "model/printable.h"
#include "model/quantity.h"

namespace vramfit::bench::compare {
namespace {

/// Causes, and rows, that are shown; how many follow is said.
constexpr std::size_t kShown = 10;
constexpr Status kStatuses[] = {Status::Same,       Status::Better, Status::Worse,
                                Status::Gone,       Status::Added,  Status::NotComparable,
                                Status::NotMeasured};

/// The path stands whole on its line, however long, to be copied.
std::string run_text(const char* which, const RunFile& run) {
  return fmt::format("{} {}\n", which, printable(run.path.string())) +
         wrapped(fmt::format("    {}, driver {}, CUDA {}, cuDNN {}, commit {}, {} rows",
                             run.fact("device"), run.fact("driver"), run.fact("cuda"),
                             run.fact("cudnn"), run.fact("commit"), run.rows.size()));
}

/// "and 3 causes more (--all)" below a list that was cut.
std::string more_text(std::size_t count, const char* what) {
  return count == 0 ? "" : fmt::format("  and {} {} more (--all)\n", count, what);
}

std::string rows_counted(std::size_t rows) {
  return fmt::format("{} row{}", rows, rows == 1 ? "" : "s");
}

std::string causes_text(const std::vector<Cause>& list, bool all) {
  std::string text;
  std::size_t shown = 0;
  std::size_t left = 0;
  std::vector<const Cause*> small;
  for (const Cause& cause : list) {
    if (!all && is_small(cause)) {
      small.push_back(&cause);
    } else if (!all && shown == kShown) {
      ++left;
    } else {
      ++shown;
      const std::string line =
          fmt::format("{} {:<25} {:>9}  {}", cause.worse ? '!' : ' ', size_text(cause),
                      rows_counted(cause.rows.size()), printable(cause.what));
      text += all ? wrapped(line) : shortened(line, kColumns) + "\n";
    }
  }
  text += more_text(left, "causes");
  if (!small.empty()) {
    const bool worse = std::any_of(small.begin(), small.end(), [](auto* c) { return c->worse; });
    std::string names;
    for (const Cause* cause : small) names += (names.empty() ? "" : ", ") + printable(cause->what);
    text += shortened(fmt::format("{} {:<25} {:>9}  {}", worse ? '!' : ' ', "less than 512 B each",
                                  fmt::format("{} of", small.size()), names),
                      kColumns) +
            "\n";
  }
  return text.empty() ? text : "what moved, the largest first\n" + text + "\n";
}

/// What levels moved by in rows that moved alike, or why they have none.
struct RowLine {
  const RowChange* row;                         ///< the first of them
  std::array<std::optional<double>, 3> levels;  ///< allocated, reserved, device used: NEW less OLD
  double largest = 0;
  std::size_t others = 0;

  bool has_levels() const { return largest > 0; }
  bool is_like(const RowLine& other) const {
    const bool alike = row->status == other.row->status && has_levels() == other.has_levels();
    return alike && (has_levels() ? levels == other.levels : row->why == other.row->why);
  }
};

RowLine line_of(const RowChange& row) {
  static constexpr std::array kLevels = {"allocated", "reserved", "device_used"};
  RowLine line{&row, {}};
  if (row.status == Status::NotComparable || row.status == Status::NotMeasured) return line;
  const std::string side = side_of(row);
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    line.levels[i] = difference(row, side + kLevels[i]);
    line.largest = std::max(line.largest, std::abs(line.levels[i].value_or(0)));
  }
  return line;
}

/// Those that moved most first; `all`: none folded into another.
std::vector<RowLine> lines_of(const Comparison& comparison, bool all) {
  std::vector<RowLine> lines;
  for (const RowChange& row : comparison.rows) {
    if (row.status == Status::Same || row.status == Status::Added) continue;
    const RowLine line = line_of(row);
    const auto like = std::find_if(lines.begin(), lines.end(),
                                   [&](const RowLine& other) { return line.is_like(other); });
    if (all || like == lines.end()) {
      lines.push_back(line);
    } else {
      ++like->others;
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const RowLine& a, const RowLine& b) {
    return std::pair(a.has_levels(), -a.largest) < std::pair(b.has_levels(), -b.largest);
  });
  return lines;
}

constexpr std::size_t kLevelColumn = 12;
constexpr std::size_t kNames = kColumns - 3 * kLevelColumn - 2;

std::string line_text(const RowLine& line) {
  const RowChange& row = *line.row;
  const char mark = row.status == Status::Better ? ' ' : '!';
  std::string called = printable(row.row);
  if (line.others > 0) called += fmt::format(", {} more", line.others);
  if (!line.has_levels()) {
    return wrapped(fmt::format("{} {}: {}{}", mark, name(row.status), called,
                               row.why.empty() ? "" : ": " + printable(row.why)));
  }
  std::string text = fmt::format("{} ", mark);
  text += called.size() < kNames ? fmt::format("{:<{}}", called, kNames)
                                 : called + fmt::format("\n{:{}}", "", kNames + 2);
  for (const auto& level : line.levels) {
    const std::string moved = !level ? "" : *level == 0 ? "0" : short_change(std::llround(*level));
    text += fmt::format("{:>{}}", moved, kLevelColumn);
  }
  return text + "\n";
}

std::string rows_text(const Report& report, bool all) {
  const std::vector<RowLine> lines = lines_of(report.comparison, all);
  if (lines.empty()) return "";
  std::string text;
  if (lines.back().has_levels()) {
    text = fmt::format("  {:<{}}{:>12}{:>12}{:>12}\n", "rows, those that moved most first", kNames,
                       "allocated", "reserved", "device used");
  }
  const std::size_t shown = all ? lines.size() : std::min(lines.size(), kShown);
  for (std::size_t i = 0; i < shown; ++i) text += line_text(lines[i]);
  std::size_t left = 0;
  for (std::size_t i = shown; i < lines.size(); ++i) left += 1 + lines[i].others;
  return text + more_text(left, "rows") + "\n";
}

/// Where the ledgers of one row part, as an example of all whose do.
std::string example_text(const Report& report) {
  const RowChange* first = nullptr;
  std::size_t others = 0;
  for (const RowChange& row : report.comparison.rows) {
    if (row.status == Status::Same || !report.moved.contains(row.row)) continue;
    if (first != nullptr) ++others;
    if (first == nullptr) first = &row;
  }
  if (first == nullptr) return "";
  return parting_text("the ledgers of " + printable(first->row), report.moved.at(first->row)) +
         more_text(others, others == 1 ? "row's" : "rows'") + "\n";
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
                                               : "they count with --slower";
  return wrapped("times and rates, NEW over OLD: lower quartile, median, upper quartile; " + gate) +
         text + "\n";
}

std::string exactness_text(const Rules& rules) {
  if (rules.allowance.bytes > 0) {
    return fmt::format("; bytes may differ by {} (--tolerance)",
                       short_change(std::llround(rules.allowance.bytes)).substr(1));
  }
  if (rules.allowance.part > 0) {
    return fmt::format("; bytes may differ by {:.3g} % (--tolerance)", 100 * rules.allowance.part);
  }
  const Tolerances& may = rules.tolerances;
  if (may.reserved + may.device_used == 0) return "; bytes are compared exactly";
  return fmt::format("; reserved may differ by {} B, device used by {} B", may.reserved,
                     may.device_used);
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
    text += wrapped(
        fmt::format("  {}: {}, now {}", fact.fact, printable(fact.before), printable(fact.after)));
  }
  text += "\n" + causes_text(causes(report.comparison, report.rules, report.moved), all);
  text += rows_text(report, all);
  text += all ? details_text(report) : example_text(report);
  text += shares_text(report.shares) + times_lines(report);
  return text + wrapped(fmt::format("{}: {}{}", report.passes ? "SAME OR BETTER" : "WORSE",
                                    counts_text(report), exactness_text(report.rules)));
}

}  // namespace vramfit::bench::compare
