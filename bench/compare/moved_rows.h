#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "bench/compare/comparison.h"
#include "bench/compare/moved.h"

namespace vramfit::bench::compare {

/// What moved, by row, where the folders `before` and `after` both have the row's ledger. A ledger
/// that differs counts, as any difference of it does: a row whose counters are the same is not the
/// same any more. Throws BadInput where a ledger is damaged.
std::map<std::string, Moved> note_moved(Comparison& comparison, const std::filesystem::path& before,
                                        const std::filesystem::path& after);

}  // namespace vramfit::bench::compare
