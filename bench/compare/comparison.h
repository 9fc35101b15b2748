#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/compare/run_file.h"
#include "bench/compare/tolerances.h"
#include "bench/counters/counter.h"

namespace vramfit::bench::compare {

/// A counter that both runs have, or one of them.
struct Change {
  std::string counter;
  Kind kind = Kind::Stated;
  std::optional<double> before;  ///< as value_of has it
  std::optional<double> after;
  bool differs = false;  ///< by more than its kind may
  bool counts = true;    ///< false: a prediction beside what was measured, or a time
  bool worse = false;    ///< it differs, counts, and is on the worse side
};

enum class Status : std::uint8_t {
  Same,
  Better,         ///< something is, and nothing worse
  Worse,          ///< something is
  Gone,           ///< OLD has it, NEW has not
  Added,          ///< NEW has it, OLD has not
  NotComparable,  ///< they are of different things
  NotMeasured,    ///< OLD measured it, NEW only predicts it
};
const char* name(Status status);

struct RowChange {
  std::string row;
  Status status = Status::Same;
  std::string why;              ///< it is not comparable, or failed; "" otherwise
  std::vector<Change> changes;  ///< of all counters but Stated ones, the levels first
};

/// Of a row's repetitions: of a time the median, otherwise the worst.
std::optional<double> value_of(const ReportRow& row, const std::string& counter);

/// By what any level of bytes may differ, as somebody asked: the larger of the two counts.
struct Allowance {
  double bytes = 0;
  double part = 0;  ///< of OLD's value
};

struct Rules {
  Tolerances tolerances;
  bool across_cards = false;
  std::optional<double> slower;  ///< of a time's median, the part by which NEW may be worse
  Allowance allowance = {};
};

/// What a value of a kind may differ from `before` by.
double may_differ_by(Kind kind, double before, const Rules& rules);

struct Comparison {
  std::vector<RowChange> rows;  ///< in OLD's order, then what NEW adds

  std::size_t count(Status status) const;
  /// Rows whose measured figures are the same, while what is predicted beside them differs.
  std::size_t count_predictions() const;
};

Comparison compare_runs(const RunFile& before, const RunFile& after, const Rules& rules);

/// What is allowed of the statuses that are neither better nor worse.
struct Allowed {
  bool gone = false;
  bool not_comparable = false;
  bool not_measured = false;
};

/// Whether some counter that counts is in both: where only times are, nothing is held unless asked.
bool compares_anything(const Comparison& comparison);

/// Whether NEW is the same or better: and something was compared.
bool passes(const Comparison& comparison, const Allowed& allowed);

}  // namespace vramfit::bench::compare
