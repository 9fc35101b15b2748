#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/compare/comparison.h"

namespace vramfit::bench::compare {

/// "+1,048,576 B (+1.00 MiB)".
std::string bytes_change(std::int64_t bytes);

/// One value of a change; "-" where the run has none.
std::string value_text(const Change& change, const std::optional<double>& value);
/// NEW less OLD, in its unit; of a time in per cent.
std::string change_text(const Change& change);

}  // namespace vramfit::bench::compare
