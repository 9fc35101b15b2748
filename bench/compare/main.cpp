#include <filesystem>
#include <iostream>

#include "bench/compare/baselines.h"
#include "bench/compare/options.h"
#include "bench/compare/report.h"
#include "bench/ledgers/ledger_file.h"
#include "estimator/data_path.h"
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

/// Equal ledgers are equal files.
std::optional<Moved> moved_between(const fs::path& before, const fs::path& after) {
  if (read_text(before) == read_text(after)) return std::nullopt;
  return moved(read_ledger(before).ledger, read_ledger(after).ledger);
}

fs::path or_beside(const std::string& typed, const fs::path& run) {
  return typed.empty() ? ledgers_of(run) : fs::path(typed);
}

void require_folder(const std::string& typed) {
  std::error_code error;
  if (typed.empty() || fs::is_directory(typed, error)) return;
  throw BadInput("ledgers: '" + typed + "' is no folder; one that bench --ledgers wrote");
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

/// A ledger that differs counts, as any difference of it does, also where no level shows it.
void add_moved(const Options& options, Report& report) {
  require_folder(options.old_ledgers);
  require_folder(options.new_ledgers);
  const fs::path before = or_beside(options.old_ledgers, report.before.path);
  const fs::path after = or_beside(options.new_ledgers, report.after.path);
  for (RowChange& row : report.comparison.rows) {
    const fs::path old_file = ledger_path(before, row.row);
    const fs::path new_file = ledger_path(after, row.row);
    if (row.changes.empty() || !is_there(old_file) || !is_there(new_file)) continue;
    auto difference = moved_between(old_file, new_file);
    if (!difference) continue;
    if (row.status == Status::Same) {
      row.status = difference->bytes() < 0 ? Status::Less : Status::More;
      row.why = "its ledger differs";
    }
    report.moved.emplace(row.row, *std::move(difference));
  }
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
  add_moved(options, report);
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
    if (!compares_anything(report.comparison)) {
      throw BadInput("accept: nothing in NEW can be compared with OLD; a run of the same rows");
    }
    const fs::path ledgers = or_beside(options->new_ledgers, report.after.path);
    const fs::path kept = accept(report.before, report.after, ledgers);
    std::cerr << "compare: NEW is kept as " << kept.string() << "\n";
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
