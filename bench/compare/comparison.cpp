#include "bench/compare/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "bench/compare/quartiles.h"

namespace vramfit::bench::compare {
namespace {

/// What a reader asks for first.
constexpr std::array<const char*, 18> kLevels = {
    "mem_device_used", "mem_reserved",     "mem_allocated",
    "mem_max_batch",   "mem_max_seq",      "oom",
    "ledger_equal",    "mem_unattributed", "mem_context",
    "mem_cublaslt",    "mem_cudnn",        "mem_modules",
    "median",          "pred_device_used", "pred_reserved",
    "pred_allocated",  "pred_max_batch",   "pred_max_seq"};

std::size_t rank(const std::string& counter) {
  const auto level = std::find(kLevels.begin(), kLevels.end(), counter);
  return static_cast<std::size_t>(level - kLevels.begin());
}

/// Sums in another order round otherwise; a format's errors stay what they are.
constexpr double kRoundingPart = 0.02;

/// Times differ from run to run: one is worse where its median is by more than is allowed, and its
/// better quartile is worse than the other's median.
bool is_slower(const Values& before, const Values& after, Better better, double allowed) {
  const double sign = better == Better::Less ? 1 : -1;
  const Quartiles old = quartiles_of(before);
  const Quartiles now = quartiles_of(after);
  const double best = better == Better::Less ? now.lower : now.upper;
  return sign * (now.median - old.median) > allowed * std::abs(old.median) &&
         sign * (best - old.median) > 0;
}

Change change_of(const std::string& counter, const ReportRow& before, const ReportRow& after,
                 const Rules& rules) {
  const Counter meaning = counter_called(counter);
  const bool measured = before.measured && after.measured;
  Change change{counter, meaning.kind, value_of(before, counter), value_of(after, counter)};
  change.counts = !(measured && meaning.predicted) && !meaning.explains &&
                  (meaning.kind != Kind::Time || rules.slower);
  if (!change.before) return change;
  if (!change.after) {
    // What was measured, of a row that is only predicted now, is gone with the measurement, and
    // errors are where no time was spent.
    change.counts =
        change.counts && before.measured == after.measured && meaning.kind != Kind::Rounding;
    change.differs = change.counts;
    change.worse = change.differs;
    return change;
  }
  if (meaning.kind == Kind::Time) {
    change.differs = change.worse =
        rules.slower && is_slower(before.counters.at(counter), after.counters.at(counter),
                                  meaning.better, *rules.slower);
    return change;
  }
  const double difference = *change.after - *change.before;
  change.differs = std::abs(difference) > may_differ_by(meaning.kind, *change.before, rules);
  change.worse =
      change.differs && change.counts && (difference > 0) == (meaning.better == Better::Less);
  return change;
}

std::string shown(double count) { return std::to_string(std::llround(count)); }

/// Why the two are of different things; "" where they are not.
std::string apart(const ReportRow& before, const ReportRow& after, const Rules& rules) {
  if (!after.error.empty() || !before.error.empty()) return "";
  if (before.card != after.card && !rules.across_cards) {
    return "another card: " + before.card + ", now " + after.card;
  }
  const auto old_size = value_of(before, "params");
  const auto new_size = value_of(after, "params");
  if (old_size && new_size && *old_size != *new_size) {
    return "another revision of the model: " + shown(*old_size) + " parameters, now " +
           shown(*new_size);
  }
  return "";
}

void add_changes(RowChange& row, const ReportRow& before, const ReportRow& after,
                 const Rules& rules) {
  std::set<std::string> counters;
  for (const ReportRow* side : {&before, &after}) {
    for (const auto& [counter, values] : side->counters) counters.insert(counter);
  }
  std::erase_if(counters, [](const std::string& counter) {
    return counter_called(counter).kind == Kind::Stated;
  });
  // How long a row took says something where nothing else does: that of a row of memory is noise.
  if (counters.size() > 1) counters.erase("real_time");
  for (const std::string& counter : counters) {
    row.changes.push_back(change_of(counter, before, after, rules));
  }
  std::sort(row.changes.begin(), row.changes.end(), [](const Change& a, const Change& b) {
    return std::pair(rank(a.counter), a.counter) < std::pair(rank(b.counter), b.counter);
  });
}

/// Of a run that was cut short, levels are where it ended: they say nothing of one that was not.
void forget_levels_of_a_cut_run(const ReportRow& before, const ReportRow& after,
                                std::vector<Change>& changes) {
  const bool completes_now =
      value_of(before, "oom").value_or(0) != 0 && value_of(after, "oom").value_or(1) == 0;
  if (!completes_now) return;
  for (Change& change : changes) {
    if (is_bytes(change.kind)) change.counts = change.worse = false;
  }
}

bool is_in_both(const Change& change) { return change.before && change.after; }

Status status_of(const std::vector<Change>& changes) {
  const auto worse = [](const Change& change) { return change.worse; };
  const auto differs = [](const Change& change) { return change.differs && change.counts; };
  if (std::any_of(changes.begin(), changes.end(), worse)) return Status::Worse;
  return std::any_of(changes.begin(), changes.end(), differs) ? Status::Better : Status::Same;
}

RowChange change_of_row(const ReportRow& before, const ReportRow& after, const Rules& rules) {
  RowChange row{before.name, Status::Same, apart(before, after, rules), {}};
  if (!row.why.empty()) {
    row.status = Status::NotComparable;
    return row;
  }
  if (!after.error.empty()) {
    row.why = "failed: " + after.error;
    row.status = before.error.empty() ? Status::Worse : Status::Same;
    return row;
  }
  add_changes(row, before, after, rules);
  forget_levels_of_a_cut_run(before, after, row.changes);
  row.status = status_of(row.changes);
  if (row.status == Status::Worse) return row;
  if (before.measured && !after.measured) {
    row.status = Status::NotMeasured;
  } else if (!before.error.empty()) {
    row.status = Status::Better;
    row.why = "failed before";
  } else if (std::none_of(row.changes.begin(), row.changes.end(), is_in_both)) {
    row.status = Status::NotComparable;
    row.why = "no counter is in both";
  }
  return row;
}

}  // namespace

std::optional<double> value_of(const ReportRow& row, const std::string& counter) {
  const auto found = row.counters.find(counter);
  if (found == row.counters.end()) return std::nullopt;
  const Values& values = found->second;
  const Counter meaning = counter_called(counter);
  if (meaning.kind == Kind::Time) return quartiles_of(values).median;
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  return meaning.better == Better::More ? *lowest : *highest;
}

double may_differ_by(Kind kind, double before, const Rules& rules) {
  if (kind == Kind::Rounding) return kRoundingPart * std::abs(before);
  if (!is_bytes(kind)) return 0;
  double learned = 0;
  if (kind == Kind::Reserved) learned = static_cast<double>(rules.tolerances.reserved);
  if (kind == Kind::DeviceUsed) learned = static_cast<double>(rules.tolerances.device_used);
  return std::max({learned, rules.allowance.bytes, rules.allowance.part * std::abs(before)});
}

const char* name(Status status) {
  static constexpr std::array<const char*, 7> kNames = {
      "same", "better", "worse", "gone", "new", "not comparable", "no longer measured"};
  return kNames[static_cast<std::size_t>(status)];
}

std::size_t Comparison::count(Status status) const {
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [&](const RowChange& row) { return row.status == status; }));
}

std::size_t Comparison::count_predictions() const {
  return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [](const RowChange& row) {
    return row.status == Status::Same &&
           std::any_of(row.changes.begin(), row.changes.end(),
                       [](const Change& change) { return change.differs; });
  }));
}

Comparison compare_runs(const RunFile& before, const RunFile& after, const Rules& rules) {
  Comparison comparison;
  std::map<std::string, const ReportRow*> now;
  for (const ReportRow& row : after.rows) now.emplace(row.name, &row);
  for (const ReportRow& row : before.rows) {
    const auto found = now.find(row.name);
    if (found == now.end()) {
      comparison.rows.push_back({row.name, Status::Gone, "", {}});
    } else {
      comparison.rows.push_back(change_of_row(row, *found->second, rules));
      now.erase(found);
    }
  }
  for (const ReportRow& row : after.rows) {
    if (now.count(row.name) > 0) comparison.rows.push_back({row.name, Status::Added, "", {}});
  }
  return comparison;
}

bool compares_anything(const Comparison& comparison) {
  const auto compared = [](const RowChange& row) {
    return std::any_of(row.changes.begin(), row.changes.end(),
                       [](const Change& change) { return is_in_both(change) && change.counts; });
  };
  return std::any_of(comparison.rows.begin(), comparison.rows.end(), compared);
}

bool passes(const Comparison& comparison, const Allowed& allowed) {
  const auto is_fine = [&](const RowChange& row) {
    switch (row.status) {
      case Status::Same:
      case Status::Better:
      case Status::Added:
        return true;
      case Status::Gone:
        return allowed.gone;
      case Status::NotComparable:
        return allowed.not_comparable;
      case Status::NotMeasured:
        return allowed.not_measured;
      case Status::Worse:
        break;
    }
    return false;
  };
  return std::all_of(comparison.rows.begin(), comparison.rows.end(), is_fine) &&
         compares_anything(comparison);
}

}  // namespace vramfit::bench::compare
