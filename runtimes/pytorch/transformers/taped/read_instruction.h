#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtimes/pytorch/transformers/taped/op_tape.h"

// A line of a tape's program, word by word.
namespace vramfit::pytorch {

/// Names of what a cache holds of a layer, as they first come.
using States = std::vector<std::string>;

/// Nothing: the word is no number with a point or an exponent.
std::optional<double> real_named(std::string_view word);

/// `states`: names known so far, to which a new one is added; `nested`: lists that it is in. Throws
/// BadInput where it is none.
Operand operand_of(std::string_view word, States& states, int nested = 0);
Instruction instruction_of(const std::vector<std::string_view>& words, States& states);

}  // namespace vramfit::pytorch
