#pragma once

#include <string>
#include <string_view>
#include <vector>

// Names of cards and models as people spell them.
namespace vramfit {

/// What is left of a name where case, '-', '_', '.', ':' and spaces do not matter.
std::string folded(std::string_view name);

/// "; did you mean 'a100-40gb' or 'a100-80gb'?": those of `names` that are close to what was typed,
/// the closest first. Nothing where none is.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names);

}  // namespace vramfit
