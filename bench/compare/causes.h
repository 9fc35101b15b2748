#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/compare/comparison.h"
#include "bench/compare/moved.h"

namespace vramfit::bench::compare {

/// One thing that moved, in all rows that it moved in.
struct Cause {
  std::string what;    ///< "planted (workspace) in backward", "cuBLASLt", "gone"
  bool sized = false;  ///< false: it moved no figure, as where a row failed
  Kind kind = Kind::Ledger;
  bool worse = false;
  double least = 0;  ///< NEW less OLD over its rows, in its kind's unit; of times and errors a part
  double most = 0;   ///< the one furthest from 0
  std::vector<std::string> rows;
};

/// Why rows are not the same, the largest first: first what has no size, then bytes, then others.
/// A row's own levels are taken apart: tensors (by ledgers where there are, by category where not),
/// what the pool reserved beyond them, and the shares of context and libraries.
/// Worse is what makes a row so: more bytes than it may differ by, or where no cause alone has so
/// many, all that has more.
std::vector<Cause> causes(const Comparison& comparison, const Rules& rules,
                          const std::map<std::string, Moved>& moved);

/// "+20.00 MiB to +56.00 MiB"; of what has no size "".
std::string size_text(const Cause& cause);

/// Whether it is less than an allocator gives at least, so that no card holds more for it.
bool is_small(const Cause& cause);

}  // namespace vramfit::bench::compare
