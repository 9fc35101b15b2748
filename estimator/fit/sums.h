#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimator/estimate.h"

namespace vramfit::fit {

/// What memory goes to at the peak: a bar for each component, and the sums from what tensors take
/// to what a card must have, set against what it has.
std::string sums(const Estimate& estimate, const Budget& budget);

/// What a part of the memory is for.
struct Component {
  std::string name;
  std::uint64_t bytes = 0;
};

/// The same of somebody's script, whose tensors were told apart as they were met: in the order
/// that they are shown in.
std::string sums(const Estimate& estimate, const Budget& budget,
                 const std::vector<Component>& components);

}  // namespace vramfit::fit
