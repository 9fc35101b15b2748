#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace vramfit {

/// Flags as typed, by name; those without a value hold "".
using Flags = std::map<std::string, std::string>;

inline bool has(const Flags& flags, const char* name) { return flags.count(name) != 0; }

/// What was typed for a flag, or nothing where it was not.
inline std::optional<std::string> typed(const Flags& flags, const char* name) {
  const auto flag = flags.find(name);
  return flag == flags.end() ? std::nullopt : std::optional(flag->second);
}

/// A flag's name as JSON spells it: "max_batch" of "max-batch".
std::string json_key(std::string_view flag);

/// The same as a whole number, or `otherwise`. Throws BadInput where it is none.
std::int64_t whole(const Flags& flags, const char* name, std::int64_t otherwise);

}  // namespace vramfit
