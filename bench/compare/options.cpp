#include "bench/compare/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iostream>
#include <string_view>
#include <vector>

#include "estimator/names.h"
#include "estimator/version.h"
#include "model/errors.h"
#include "model/quantity.h"

namespace vramfit::bench::compare {
namespace {

constexpr const char* kDescription =
    "What two runs of bench differ by: memory row by row, and what moved.\n"
    "OLD and NEW are reports (--benchmark_out), or folders, of which the newest run counts.";

constexpr const char* kFooter =
    "Exit status: 0 the same or better, 1 worse, 2 bad input, 3 anything else. Rows that are "
    "gone,\n"
    "not comparable or no longer measured are 1 unless allowed; nothing to compare is never 0.\n"
    "\n"
    "  compare data/runs/nvidia-h200/580.159.04-13.0/2026-11-21-456dc6f.json build/new.json\n"
    "  compare --against newest build/new.json\n"
    "  compare --against newest build/new.json --format markdown >> \"$GITHUB_STEP_SUMMARY\"\n";

constexpr std::array<const char*, 5> kFormats = {"table", "markdown", "json", "bmf",
                                                 "smaller-is-better"};

Allowed allowed_by(const std::vector<std::string>& list) {
  Allowed allowed;
  for (const std::string& what : list) {
    if (what == "gone") {
      allowed.gone = true;
    } else if (what == "not-comparable") {
      allowed.not_comparable = true;
    } else if (what == "predicted") {
      allowed.not_measured = true;
    } else {
      throw BadInput("allow: unknown '" + what + "'; gone, not-comparable or predicted");
    }
  }
  return allowed;
}

/// "100MB" or "1%".
Allowance allowance_by(const std::string& text) {
  if (text.ends_with('%')) {
    return {0, parse_number("tolerance", text.substr(0, text.size() - 1), 0, 100) / 100};
  }
  return {static_cast<double>(parse_bytes("tolerance", text)), 0};
}

void require_format(const std::string& format) {
  if (std::find(kFormats.begin(), kFormats.end(), format) != kFormats.end()) return;
  throw BadInput("format: unknown '" + format +
                 "'; table, markdown, json, bmf or smaller-is-better");
}

/// OLD and NEW, or NEW alone where --against says what is old.
void set_runs(CompareOptions& options, const std::vector<std::string>& files) {
  const std::size_t wanted = options.against.empty() ? 2 : 1;
  if (files.size() != wanted) {
    throw BadInput(options.against.empty() ? "runs: OLD and NEW; or --against newest NEW"
                                           : "runs: NEW alone, as --against says what is old");
  }
  options.after = files.back();
  if (wanted == 2) options.before = files.front();
}

/// What is given as nothing, as by a variable of CI that is not set, turns nothing off.
void require_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) throw BadInput(option->get_single_name() + ": is empty");
    }
  }
}

}  // namespace

std::optional<CompareOptions> parse_options(int argc, const char* const* argv) {
  CompareOptions options;
  std::vector<std::string> files;
  std::vector<std::string> allow;
  std::vector<std::string> ledgers;
  std::string slower;
  std::string tolerance;
  CLI::App app(kDescription, "compare");
  app.footer(kFooter);
  app.set_version_flag("--version", kVersionLine, "Version and commit");
  app.add_option("runs", files, "OLD and NEW");
  app.add_option("--against", options.against,
                 "instead of OLD, of data/runs: newest of NEW's card, a card, or a driver");
  app.add_option("--format", options.format, "table, markdown, json, bmf or smaller-is-better");
  app.add_option("--allow", allow, "gone, not-comparable, predicted: is no reason to end with 1")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_flag("--across-cards", options.across_cards, "compare although the cards differ");
  app.add_option("--tolerance", tolerance,
                 "by what bytes may differ, 100MB or 1%; by nothing unless said");
  app.add_option("--slower", slower,
                 "per cent by which a time's median may be worse; else no time counts");
  app.add_option("--ledgers", ledgers,
                 "folders with OLD's and NEW's ledgers; by default beside the runs")
      ->expected(2);
  app.add_flag("--all", options.all, "every cause, row and counter");
  app.add_flag("--accept", options.accept, "keep NEW beside OLD, as the next baseline");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return std::nullopt;
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << "\n";
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw BadInput(std::string(error.what()) + "; compare --help says what is valid");
  }
  require_values(app);
  require_format(options.format);
  options.allowed = allowed_by(allow);
  if (!slower.empty()) options.slower = parse_number("slower", slower, 0, 1000) / 100;
  if (!tolerance.empty()) options.tolerance = allowance_by(tolerance);
  if (ledgers.size() == 2) {
    options.old_ledgers = ledgers[0];
    options.new_ledgers = ledgers[1];
  }
  set_runs(options, files);
  return options;
}

}  // namespace vramfit::bench::compare
