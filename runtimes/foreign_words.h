#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Flags of other tools that are no setting of any runtime here, and what becomes of each.
namespace vramfit {

struct ForeignWord {
  enum class Use : std::uint8_t {
    PassedOver,  ///< no byte on the GPU depends on it
    Noted,       ///< taken, and `what` is said
    Refused,     ///< another answers: `what` names it
  };
  enum class Takes : std::uint8_t { Value, Truth };  ///< Truth: a switch, or true or false after it

  std::string_view name;  ///< without dashes, '-' for '_'
  Use use = Use::PassedOver;
  Takes takes = Takes::Value;
  const char* what = "";
  std::string_view harmless = "false";  ///< the value with which it asks for nothing
};

/// What is nearest to weights that are stored otherwise.
inline constexpr const char* kQuantizedWeights =
    "in this form quantized weights are not predicted yet; nearest: bitsandbytes' --quant int8, "
    "nf4 or fp4 (in training with --lora), or --precision bf16";

/// Null where nobody here knows it.
const ForeignWord* find_foreign_word(std::string_view name);

}  // namespace vramfit
