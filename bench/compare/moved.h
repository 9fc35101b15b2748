#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/memory/kept_ledger.h"

namespace vramfit::bench::compare {

/// Tensors of one kind that one ledger has more of than the other, all layers together.
struct MovedTensors {
  int step = 0;
  Stage stage = Stage::Outside;
  Category category = Category::Parameters;
  std::string tensor;      ///< "layers.*.mlp.up", or its whole name
  std::int64_t count = 0;  ///< allocations, NEW less OLD
  std::int64_t bytes = 0;  ///< of all of them, NEW less OLD
};

/// What two ledgers differ by.
struct Moved {
  std::size_t event = 0;  ///< the first at which they part
  std::string before;     ///< it, in OLD; "" where OLD has ended
  std::string after;
  std::vector<MovedTensors> tensors;  ///< the most bytes first; none where only places differ

  std::int64_t bytes() const;  ///< of all tensors
};

/// Nothing where they are equal.
std::optional<Moved> moved(const KeptLedger& before, const KeptLedger& after);

}  // namespace vramfit::bench::compare
