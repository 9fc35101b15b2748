#include <filesystem>
#include <iostream>

#include "bench/compare/baselines.h"
#include "bench/compare/options.h"
#include "bench/compare/report.h"
#include "bench/ledgers/ledger_file.h"
#include "model/errors.h"
#include "model/printable.h"

namespace vramfit::bench::compare {
namespace {

namespace fs = std::filesystem;

constexpr int kSameOrBetter = 0;
constexpr int kWorse = 1;
constexpr int kBadInput = 2;
constexpr int kFailed = 3;

int complain(const std::exception& error, int status) {
  std::cerr << "compare: error: " << one_line(error.what(), kLongestMessage) << "\n";
  return status;
}

fs::path or_beside(const std::string& typed, const fs::path& run) {
  return typed.empty() ? ledgers_of(run) : fs::path(typed);
}

/// Of the rows that both runs have a ledger of.
std::map<std::string, Moved> all_moved(const Options& options, const Report& report) {
  const fs::path before = or_beside(options.old_ledgers, report.before.path);
  const fs::path after = or_beside(options.new_ledgers, report.after.path);
  std::map<std::string, Moved> all;
  for (const RowChange& row : report.comparison.rows) {
    if (row.changes.empty()) continue;
    const fs::path old_file = ledger_path(before, row.row);
    const fs::path new_file = ledger_path(after, row.row);
    if (!fs::exists(old_file) || !fs::exists(new_file)) continue;
    if (auto difference = moved(read_ledger(old_file).ledger, read_ledger(new_file).ledger)) {
      all.emplace(row.row, *std::move(difference));
    }
  }
  return all;
}

Report report_on(const Options& options) {
  Report report;
  report.after = run_at(options.after, "NEW");
  report.before = options.against.empty() ? run_at(options.before, "OLD")
                                          : baseline(options.against, report.after);
  report.rules = {read_tolerances(), options.across_cards, options.slower};
  report.comparison = compare_runs(report.before, report.after, report.rules);
  report.facts = fact_changes(report.before, report.after);
  report.shares = shares(report.before, report.after);
  report.moved = all_moved(options, report);
  report.passes = passes(report.comparison, options.allowed);
  return report;
}

std::string text_of(const Options& options, const Report& report) {
  if (options.format == "markdown") return markdown_text(report);
  if (options.format == "json") return json_text(report);
  if (options.format == "bmf") return bmf_text(report.after);
  if (options.format == "smaller-is-better") return smaller_is_better_text(report.after);
  return table_text(report, options.all);
}

int run(int argc, const char* const* argv) {
  const std::optional<Options> options = parse_options(argc, argv);
  if (!options) return kSameOrBetter;
  const Report report = report_on(*options);
  std::cout << text_of(*options, report);
  if (options->accept) {
    const fs::path folder = report.before.path.parent_path();
    std::cerr << "compare: NEW is kept as " << accept(report.after, folder).string() << "\n";
  }
  return report.passes ? kSameOrBetter : kWorse;
}

}  // namespace
}  // namespace vramfit::bench::compare

int main(int argc, char** argv) {
  namespace compare = vramfit::bench::compare;
  try {
    const int status = compare::run(argc, argv);
    if (std::cout.flush()) return status;
    throw std::runtime_error("cannot write the comparison");
  } catch (const vramfit::BadInput& error) {
    return compare::complain(error, compare::kBadInput);
  } catch (const std::exception& error) {
    return compare::complain(error, compare::kFailed);
  }
}
