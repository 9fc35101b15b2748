#pragma once

#include <vector>

namespace vramfit::bench::compare {

struct Quartiles {
  double lower;
  double median;
  double upper;
};

/// Of at least one value, with linear interpolation between order statistics (Hyndman and Fan 1996,
/// type 7, as NumPy has it).
Quartiles quartiles_of(std::vector<double> values);

}  // namespace vramfit::bench::compare
