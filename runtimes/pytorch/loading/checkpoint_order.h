#pragma once

#include <string_view>

namespace vramfit::pytorch {

/// Whether a tensor of one name is read before another: dot_natural_key of transformers'
/// core_model_loading.py, 5.17. Part by part between dots, numbers as numbers, and what ends in
/// digits by what stands before them first.
bool comes_before(std::string_view a, std::string_view b);

}  // namespace vramfit::pytorch
