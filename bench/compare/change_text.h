#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/compare/comparison.h"

namespace vramfit::bench::compare {

/// "+1.00 MiB", "-12 B".
std::string short_change(std::int64_t bytes);

/// "+1,048,576 B (+1.00 MiB)".
std::string bytes_change(std::int64_t bytes);

/// One value of a change; "-" where the run has none.
std::string value_text(const Change& change, const std::optional<double>& value);
/// NEW less OLD, in its unit; of a time in per cent.
std::string change_text(const Change& change);

/// Where a difference of device used is: which parts it is made of, and the end of which stage
/// shows it first. "" where device used does not differ.
std::string device_used_text(const RowChange& row);

}  // namespace vramfit::bench::compare
