#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtimes/setting.h"

namespace vramfit {

/// --lora's rank; absent where it was not typed. Throws BadInput where it is no number.
std::optional<std::int64_t> lora_rank(const Flags& flags);

/// What --lora-targets needs.
inline constexpr Needs kLora = {"--lora", [](const Flags& flags) { return has(flags, "lora"); }};

/// PEFT's word for all of them.
inline constexpr const char* kEveryLinear = "all-linear";

/// PEFT's target_modules: names with commas between, or kEveryLinear, which is `every`.
std::vector<std::string> parse_lora_targets(const std::string& text,
                                            const std::vector<std::string>& every);

}  // namespace vramfit
