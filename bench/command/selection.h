#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/command/models.h"
#include "bench/rows/case.h"
#include "bench/rows/filter.h"
#include "bench/rows/target.h"

namespace vramfit::bench {

/// What will run, in the sweep's order.
struct Selection {
  std::vector<Case> cases;
  /// Combinations of typed values that no run can have, and how many rows each reason took.
  std::map<std::string, int> left_out;
  /// Where rows were selected that only a real device can run, and there is none: their family.
  const RowFamily* needs_device = nullptr;
};

/// The rows' cases on the target: on several virtual cards, or on several cards that a real device
/// is told to behave as, each row once a card. Keeps what `filter` selects. `typed` are the flags'
/// values, which `rows` are made with: a row that cannot run is left out where its family has one
/// of those axes, and otherwise a mistake in the sweep. Throws BadInput on such, and where a typed
/// value is in no row.
Selection select(const std::vector<Row>& rows, const AxisLists& typed, const Filter& filter,
                 Target& target, Models& models);

/// The row of that name, whether or not a sweep has it. Throws BadInput.
Case case_of(const std::string& row, Target& target, Models& models);

}  // namespace vramfit::bench
