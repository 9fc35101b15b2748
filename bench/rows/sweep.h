#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/rows/families.h"
#include "bench/rows/row.h"

namespace vramfit::bench {

/// One entry of a sweep file: a family and the values of each of its axes.
struct SweepEntry {
  const RowFamily* family;
  AxisLists values;
};

/// The entries of a file as data/README.md describes it. Throws BadInput that names the file, the
/// entry, the key and what would be valid.
std::vector<SweepEntry> read_sweep(const std::filesystem::path& path);
std::vector<SweepEntry> parse_sweep(const std::string& json_text, const std::string& source);
/// Those of data/sweep.json.
std::vector<SweepEntry> default_sweep();

/// The union of the entries' products, in order. Where `instead` holds values of an axis, they
/// replace the entry's own in every family that has the axis; rows that then coincide are one.
/// Where some are replaced, entries with unusual values on other axes are left out, unless
/// their family has none but such.
std::vector<Row> expand(const std::vector<SweepEntry>& entries, const AxisLists& instead = {});

}  // namespace vramfit::bench
