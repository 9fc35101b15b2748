#pragma once

#include <array>
#include <string>

#include "bench/rows/axes.h"

namespace vramfit::bench {

struct RowFamily;

/// One point of a sweep.
struct Row {
  const RowFamily* family = nullptr;
  std::array<std::string, kAxes> values;  ///< canonical; "" where the family has no such axis

  const std::string& operator[](Axis axis) const { return values[index(axis)]; }
  std::string& operator[](Axis axis) { return values[index(axis)]; }

  /// The key that joins runs of different machines and drivers, and therefore frozen: the family,
  /// the positional values, key:value in the axes' order, unusual values only where an axis came
  /// later. "Training/llama2-7b/fp16/adamw/batch:4/seq:512".
  std::string name() const;
};

/// The row of that name; throws BadInput where there is none.
Row parse_row(const std::string& name);

}  // namespace vramfit::bench
