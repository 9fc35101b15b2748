#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtimes/pytorch/transformers/taped/op_tape.h"

// A line of a tape's program, word by word.
namespace vramfit::pytorch {

/// Nothing: the word is no number with a point or an exponent.
std::optional<double> real_named(std::string_view word);

/// `nested`: lists that it is in. Throws BadInput where it is none.
Operand operand_of(std::string_view word, const States& states, int nested = 0);
Instruction instruction_of(const std::vector<std::string_view>& words, const States& states);

}  // namespace vramfit::pytorch
