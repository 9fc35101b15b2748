#pragma once

#include <map>
#include <string>
#include <vector>

#include "estimator/budget.h"

namespace vramfit {

/// What cuDeviceGetAttribute answers, by number.
using Attributes = std::map<int, int>;

/// data/attributes.json: what one card's driver told, and what is known of each compute capability.
struct AttributeData {
  std::map<std::string, int> numbers;  ///< of the attributes, by name
  std::string card;                    ///< whose driver told all of `told`
  Attributes told;
  std::map<int, Attributes> archs;  ///< by compute capability, where it differs or was looked up
};

/// From a text; throws BadInput, which names the text as `source`.
AttributeData parse_attributes(const std::string& json_text, const std::string& source);

/// A GPU's attributes, and what of them was assumed: a line each.
struct KnownAttributes {
  Attributes values;
  std::vector<std::string> notes;
};

/// What the catalogue knows of the GPU, over what is known of its compute capability, over what
/// another card's driver told.
KnownAttributes attributes_of(const Budget& gpu);

}  // namespace vramfit
