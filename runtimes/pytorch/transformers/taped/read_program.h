#pragma once

#include <string_view>
#include <vector>

#include "runtimes/pytorch/transformers/taped/op_tape.h"

// A program's lines, instruction by instruction.
namespace vramfit::pytorch {

/// `words`: those of a line before it, whose room is used again.
void split_words(std::string_view line, std::vector<std::string_view>& words);

/// `states`: OpTape::states. Throws BadInput where it is none, naming the line.
Program read_program(const WrittenProgram& written, const States& states);

}  // namespace vramfit::pytorch
