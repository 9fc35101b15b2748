#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// Flags of other tools that are no setting of any runtime here, and what becomes of each. What a
// runtime's own program has is in a table of that runtime's (Runtime::foreign_words).
namespace vramfit {

struct ForeignWord {
  enum class Use : std::uint8_t {
    PassedOver,  ///< no byte on the GPU depends on it
    Noted,       ///< taken, and `what` is said
    Refused,     ///< another answers: `what` names it
    Usual,       ///< so it is without it, too
    Means,       ///< `what` is the flag here that says the same, of `only` a switch
  };
  enum class Takes : std::uint8_t { Value, Truth };  ///< Truth: a switch, or true or false after it

  std::string_view
      names;  ///< one a word; without dashes, '-' for '_'; one that takes one dash alone, with it
  Use use = Use::PassedOver;
  Takes takes = Takes::Value;
  const char* what = "";
  std::string_view harmless = "false";  ///< the value with which it asks for nothing
  std::string_view only = {};           ///< the value that this row is of; empty: all others
};

/// What is nearest to weights that are stored otherwise.
inline constexpr const char* kQuantizedWeights =
    "in this form quantized weights are not predicted yet; nearest: bitsandbytes' --quant int8, "
    "nf4 or fp4 (in training with --lora), or --precision bf16";

/// Flags of trainers, generators and servers that nobody here is asked about.
std::span<const ForeignWord> general_foreign_words();

}  // namespace vramfit
