#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/compare/comparison.h"
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
  /// Of the steps that both walked, the most bytes first; none where only places differ.
  std::vector<MovedTensors> tensors;
  int more_steps = 0;  ///< NEW less OLD: of the steps until memory is steady

  std::int64_t bytes() const;  ///< of all tensors
};

/// Nothing where they are equal.
std::optional<Moved> moved(const KeptLedger& before, const KeptLedger& after);

/// What moved, by row, where the folders `before` and `after` both have the row's ledger. A ledger
/// that differs by more than is allowed counts, as any difference of it does: a row whose counters
/// are the same is not the same any more. Throws BadInput where a ledger is damaged.
std::map<std::string, Moved> note_moved(Comparison& comparison, const Rules& rules,
                                        const std::filesystem::path& before,
                                        const std::filesystem::path& after);

}  // namespace vramfit::bench::compare
