#include <filesystem>
#include <iostream>

#include "bench/compare/baselines.h"
#include "bench/compare/moved.h"
#include "bench/compare/options.h"
#include "bench/compare/report.h"
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

/// Where a run's ledgers are: as typed, otherwise beside it.
fs::path ledgers(const std::string& typed, const RunFile& run) {
  std::error_code error;
  if (typed.empty()) return ledgers_of(run.path);
  if (fs::is_directory(typed, error)) return typed;
  throw BadInput("ledgers: '" + typed + "' is no folder; one that bench --ledgers wrote");
}

Report report_on(const CompareOptions& options) {
  Report report;
  report.after = run_at(options.after, "NEW");
  report.before = options.against.empty() ? run_at(options.before, "OLD")
                                          : baseline(options.against, report.after);
  report.rules = {read_tolerances(), options.across_cards, options.slower, options.tolerance};
  report.comparison = compare_runs(report.before, report.after, report.rules);
  report.facts = fact_changes(report.before, report.after);
  report.shares = shares(report.before, report.after);
  report.moved =
      note_moved(report.comparison, report.rules, ledgers(options.old_ledgers, report.before),
                 ledgers(options.new_ledgers, report.after));
  report.passes = passes(report.comparison, options.allowed);
  return report;
}

std::string text_of(const CompareOptions& options, const Report& report) {
  if (options.format == "markdown") return markdown_text(report);
  if (options.format == "json") return json_text(report);
  if (options.format == "bmf") return bmf_text(report.after);
  if (options.format == "smaller-is-better") return smaller_is_better_text(report.after);
  return table_text(report, options.all);
}

int run(int argc, const char* const* argv) {
  const std::optional<CompareOptions> options = parse_options(argc, argv);
  if (!options) return kSameOrBetter;
  const Report report = report_on(*options);
  std::cout << text_of(*options, report);
  if (options->accept) {
    if (!compares_anything(report.comparison)) {
      throw BadInput("accept: nothing that counts is in both OLD and NEW; a run of the same rows");
    }
    const fs::path kept =
        accept(report.before, report.after, ledgers(options->new_ledgers, report.after));
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
