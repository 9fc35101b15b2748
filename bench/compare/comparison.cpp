#include "bench/compare/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "bench/compare/quartiles.h"

namespace vramfit::bench::compare {
namespace {

/// What a reader asks for first.
constexpr std::array<const char*, 16> kLevels = {
    "mem_device_used", "mem_reserved",     "mem_allocated",    "mem_max_batch", "oom",
    "ledger_equal",    "mem_unattributed", "mem_context",      "mem_cublaslt",  "mem_cudnn",
    "mem_modules",     "median",           "pred_device_used", "pred_reserved", "pred_allocated",
    "pred_max_batch"};

std::size_t rank(const std::string& counter) {
  const auto level = std::find(kLevels.begin(), kLevels.end(), counter);
  return static_cast<std::size_t>(level - kLevels.begin());
}

/// One value for repetitions: of memory the highest, of a time the median.
std::optional<double> value_of(const ReportRow& row, const std::string& counter, Kind kind) {
  const auto found = row.counters.find(counter);
  if (found == row.counters.end()) return std::nullopt;
  const Values& values = found->second;
  return kind == Kind::Time ? quartiles_of(values).median
                            : *std::max_element(values.begin(), values.end());
}

double tolerance(Kind kind, const Tolerances& tolerances) {
  if (kind == Kind::Reserved) return static_cast<double>(tolerances.reserved);
  if (kind == Kind::DeviceUsed) return static_cast<double>(tolerances.device_used);
  return 0;
}

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
  Change change{counter, meaning.kind, value_of(before, counter, meaning.kind),
                value_of(after, counter, meaning.kind)};
  change.counts = !(measured && meaning.predicted) && (meaning.kind != Kind::Time || rules.slower);
  if (!change.before) return change;
  if (!change.after) {
    change.differs = meaning.kind != Kind::Time;
    change.worse = change.differs && change.counts;
    return change;
  }
  if (meaning.kind == Kind::Time) {
    change.differs = change.worse =
        rules.slower && is_slower(before.counters.at(counter), after.counters.at(counter),
                                  meaning.better, *rules.slower);
    return change;
  }
  const double difference = *change.after - *change.before;
  change.differs = std::abs(difference) > tolerance(meaning.kind, rules.tolerances);
  change.worse =
      change.differs && change.counts && (difference > 0) == (meaning.better == Better::Less);
  return change;
}

std::string shown(double count) { return std::to_string(std::llround(count)); }

/// Why the two are of different things; "" where they are not.
std::string apart(const ReportRow& before, const ReportRow& after, const Rules& rules) {
  if (!after.error.empty()) return "";
  const bool both = before.measured == after.measured;
  if (both && before.card != after.card && !rules.across_cards) {
    return "another card: " + before.card + ", now " + after.card;
  }
  const auto old_size = value_of(before, "params", Kind::Stated);
  const auto new_size = value_of(after, "params", Kind::Stated);
  if (old_size && new_size && *old_size != *new_size) {
    return "another revision of the model: " + shown(*old_size) + " parameters, now " +
           shown(*new_size);
  }
  return "";
}

/// In NEW's place something else is there, or nothing.
Status status_without_figures(const ReportRow& before, const ReportRow& after) {
  if (before.error.empty() && !after.error.empty()) return Status::More;
  return before.measured && !after.measured ? Status::NotMeasured : Status::Same;
}

void add_changes(RowChange& row, const ReportRow& before, const ReportRow& after,
                 const Rules& rules) {
  std::set<std::string> counters;
  for (const ReportRow* side : {&before, &after}) {
    for (const auto& [counter, values] : side->counters) counters.insert(counter);
  }
  // How long a row took says something where nothing else does: that of a row of memory is noise.
  std::erase_if(counters, [](const std::string& counter) {
    return counter_called(counter).kind == Kind::Stated;
  });
  if (counters.size() > 1) counters.erase("real_time");
  for (const std::string& counter : counters) {
    row.changes.push_back(change_of(counter, before, after, rules));
  }
  std::stable_sort(row.changes.begin(), row.changes.end(), [](const Change& a, const Change& b) {
    return rank(a.counter) < rank(b.counter);
  });
}

Status status_of(const std::vector<Change>& changes) {
  const auto worse = [](const Change& change) { return change.worse; };
  const auto differs = [](const Change& change) { return change.differs && change.counts; };
  if (std::any_of(changes.begin(), changes.end(), worse)) return Status::More;
  return std::any_of(changes.begin(), changes.end(), differs) ? Status::Less : Status::Same;
}

RowChange change_of_row(const ReportRow& before, const ReportRow& after, const Rules& rules) {
  RowChange row{before.name, Status::Same, apart(before, after, rules), {}};
  if (!row.why.empty()) {
    row.status = Status::NotComparable;
    return row;
  }
  row.status = status_without_figures(before, after);
  if (row.status == Status::More) row.why = "failed: " + after.error;
  if (!after.error.empty()) return row;
  add_changes(row, before, after, rules);
  if (row.status == Status::Same) row.status = status_of(row.changes);
  if (!before.error.empty()) row = {row.row, Status::Less, "failed before", row.changes};
  return row;
}

}  // namespace

const char* name(Status status) {
  static constexpr std::array<const char*, 7> kNames = {
      "same", "less", "more", "gone", "new", "not comparable", "no longer measured"};
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

bool passes(const Comparison& comparison, const Allowed& allowed) {
  const auto is_fine = [&](const RowChange& row) {
    switch (row.status) {
      case Status::Same:
      case Status::Less:
      case Status::Added:
        return true;
      case Status::Gone:
        return allowed.gone;
      case Status::NotComparable:
        return allowed.not_comparable;
      case Status::NotMeasured:
        return allowed.not_measured;
      case Status::More:
        break;
    }
    return false;
  };
  const auto compared = [](const RowChange& row) {
    return std::any_of(row.changes.begin(), row.changes.end(),
                       [](const Change& change) { return change.before && change.after; });
  };
  return std::all_of(comparison.rows.begin(), comparison.rows.end(), is_fine) &&
         std::any_of(comparison.rows.begin(), comparison.rows.end(), compared);
}

}  // namespace vramfit::bench::compare
