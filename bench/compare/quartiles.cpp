#include "bench/compare/quartiles.h"

#include <algorithm>
#include <cmath>

namespace vramfit::bench::compare {
namespace {

double at(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

}  // namespace

Quartiles quartiles_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {at(values, 0.25), at(values, 0.5), at(values, 0.75)};
}

}  // namespace vramfit::bench::compare
