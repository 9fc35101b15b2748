#pragma once

#include <string>
#include <string_view>

#include "runtimes/runtime.h"

namespace vramfit {

/// A setting, and what it was called where that is not its own name.
struct Known {
  const Setting* setting = nullptr;
  const Spelling* spelling = nullptr;
};

Known known(const Settings& settings, std::string_view name);

/// In the words of the runtime that is asked about; where it has none for it, in others'.
Known known(const Runtime& runtime, std::string_view name);

/// Whether its values have other spellings.
bool has_spelt_values(const Setting& setting);

/// What the value of a setting, which was typed as `flag`, is called here.
std::string canonical_value(const Setting& setting, std::string_view flag,
                            const std::string& alias);

}  // namespace vramfit
