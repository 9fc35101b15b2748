#include "runtimes/pytorch/transformers/taped/read_program.h"

#include <algorithm>
#include <string>

#include "model/errors.h"
#include "runtimes/pytorch/transformers/taped/read_instruction.h"

namespace vramfit::pytorch {
namespace {

/// What those who play it count on.
void require_gradient(const Instruction& gradient) {
  const std::vector<Operand>& given = gradient.args[2].list;
  const std::vector<Operand>& gives = gradient.args.back().list;
  const bool are_as_many = !gives.empty() && gives.size() == given.size();
  const bool are_tensors = std::all_of(gives.begin(), gives.end(), [](const Operand& each) {
    return each.kind == Operand::Kind::Register || each.kind == Operand::Kind::None;
  });
  if (!are_as_many || !are_tensors) throw BadInput("'gives' has one of each that is given");
}

class PartReader {
 public:
  PartReader(const WrittenPart& part, const States& states) : part_(part), states_(states) {}

  std::vector<Instruction> read() {
    try {
      return steps("");
    } catch (const BadInput& refusal) {
      const std::string in = number_ > part_.begin ? "" : ", in part '" + part_.name + "'";
      throw BadInput("tape: line " + std::to_string(number_) + ": " + refusal.what() + in);
    }
  }

 private:
  /// Up to the line that begins with `last`; empty: all.
  std::vector<Instruction> steps(std::string_view last) {
    std::vector<Instruction> all;
    for (;;) {
      if (at_ == part_.lines.size()) {
        if (last.empty()) return all;
        throw BadInput("ends early");
      }
      number_ = part_.lines[at_].number;
      split_words(part_.lines[at_++].text, words_);
      if (words_.front() == last) return all;
      all.push_back(instruction_of(words_, states_));
      const Instruction::Kind kind = all.back().kind;
      if (!last.empty() && kind != Instruction::Kind::Op && kind != Instruction::Kind::Free) {
        throw BadInput("'" + all.back().name + "' within a loop or a gradient");
      }
      if (kind == Instruction::Kind::Repeat) {
        all.back().body = steps("again");
      } else if (kind == Instruction::Kind::Gradient) {
        all.back().body = steps("gives");
        Operand& gives = all.back().args.emplace_back();
        gives.kind = Operand::Kind::List;
        for (std::size_t i = 1; i < words_.size(); ++i) {
          gives.list.push_back(operand_of(words_[i], states_));
        }
        require_gradient(all.back());
      }
    }
  }

  const WrittenPart& part_;
  const States& states_;
  std::vector<std::string_view> words_;
  int number_ = 0;
  std::size_t at_ = 0;
};

}  // namespace

void split_words(std::string_view line, std::vector<std::string_view>& words) {
  words.clear();
  const char* const end = line.data() + line.size();
  for (const char* at = line.data(); at != end;) {
    const char* const begin = at;
    while (at != end && *at != ' ') ++at;
    if (at != begin) words.emplace_back(begin, static_cast<std::size_t>(at - begin));
    while (at != end && *at == ' ') ++at;
  }
}

Program read_program(const WrittenProgram& written, const States& states) {
  Program program;
  program.main = Body(PartReader(written.main, states).read());
  for (const auto& [kind, part] : written.layers) {
    const Body& layer = program.layers[kind] = Body(PartReader(part, states).read());
    const std::string at = "tape: line " + std::to_string(part.begin) + ": ";
    for (const Instruction& each : layer.steps) {
      if (each.kind == Instruction::Kind::Layers) throw BadInput(at + "layers within a layer");
    }
    if (layer.of_program > program.main.of_program) {
      throw BadInput(at + "a layer takes of its program what that has not");
    }
  }
  return program;
}

}  // namespace vramfit::pytorch
