#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <sstream>

#include "model/errors.h"
#include "runtimes/pytorch/torch/aten/ops.h"
#include "runtimes/pytorch/transformers/taped/op_tape.h"

namespace vramfit::pytorch {
namespace {

constexpr std::string_view kFirstLine = "vramfit tape 1";
constexpr std::uint32_t kMostRegisters = 100'000;

/// `words`: those of a line before it, whose room is used again.
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

/// Parts between commas that are in no parentheses.
std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '(' || list[i] == '[') ++depth;
    if (list[i] == ')' || list[i] == ']') --depth;
    if (list[i] != ',' || depth > 0) continue;
    parts.push_back(list.substr(begin, i - begin));
    begin = i + 1;
  }
  if (!list.empty()) parts.push_back(list.substr(begin));
  return parts;
}

using States = std::vector<std::string>;

/// `states`: names known so far, to which a new one is added.
Register state_named(std::string_view name, States& states) {
  const auto found = std::find(states.begin(), states.end(), name);
  const auto number = static_cast<std::uint32_t>(found - states.begin());
  if (found == states.end()) states.emplace_back(name);
  return {Register::Scope::State, number};
}

std::optional<Register> register_named(std::string_view word, States& states) {
  constexpr std::string_view kSigns = "%$^";
  if (word.size() > 1 && word.front() == '!') return state_named(word.substr(1), states);
  const std::size_t sign = word.empty() ? std::string_view::npos : kSigns.find(word.front());
  if (sign == std::string_view::npos) return std::nullopt;
  Register result{static_cast<Register::Scope>(sign), 0};
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data() + 1, last, result.number);
  if (error != std::errc() || end != last || result.number > kMostRegisters) {
    throw BadInput("'" + std::string(word) + "' is no register");
  }
  return result;
}

std::optional<double> real_named(std::string_view word) {
  const bool number = word.find_first_not_of("+-0123456789.e") == std::string_view::npos;
  const bool whole = word.find_first_of(".e") == std::string_view::npos;
  if (word == "inf" || word == "-inf" || word == "nan") return 0;
  if (!number || whole) return std::nullopt;
  return std::strtod(std::string(word).c_str(), nullptr);
}

Operand operand_of(std::string_view word, States& states) {
  using Kind = Operand::Kind;
  Operand operand;
  if (word == "_") return operand;
  if (const auto tensor = register_named(word, states)) {
    operand.kind = Kind::Register;
    operand.tensor = *tensor;
  } else if (word.starts_with('@')) {
    operand.kind = Kind::Parameter;
    operand.path = word.substr(1);
  } else if (word.starts_with('[')) {
    operand.kind = Kind::List;
    for (const std::string_view part : parts_of(word.substr(1, word.size() - 2))) {
      operand.list.push_back(operand_of(part, states));
    }
  } else if (word == "true" || word == "false") {
    operand.kind = Kind::Bool;
    operand.flag = word == "true";
  } else if (word == "T") {
    operand.kind = Kind::ModelType;
  } else if (word == "A") {
    operand.kind = Kind::AutocastType;
  } else if (const auto type = aten::type_named(word)) {
    operand.kind = Kind::Type;
    operand.type = *type;
  } else if (const auto real = real_named(word)) {
    operand.kind = Kind::Real;
    operand.real = *real;
  } else if (word == "end") {
    operand.kind = Kind::Size;
    operand.size = Expression::parse(std::to_string(std::numeric_limits<std::int64_t>::max()));
  } else {
    operand.kind = Kind::Size;
    operand.size = Expression::parse(word);
  }
  return operand;
}

/// "_": no tensor, or one that nobody asks for.
std::vector<Register> registers_of(std::string_view word, States& states) {
  std::vector<Register> all;
  for (const std::string_view part : parts_of(word)) {
    const auto named =
        part == "_" ? Register{Register::Scope::None, 0} : register_named(part, states);
    if (!named) throw BadInput("'" + std::string(part) + "' is no register");
    all.push_back(*named);
  }
  return all;
}

Instruction::Kind kind_of(std::string_view word) {
  using Kind = Instruction::Kind;
  static constexpr std::pair<std::string_view, Kind> kKinds[] = {
      {"free", Kind::Free},     {"parameter", Kind::Parameter}, {"bind", Kind::Bind},
      {"layers", Kind::Layers}, {"give", Kind::Give},           {"given", Kind::Given},
      {"return", Kind::Return}, {"autocast", Kind::Autocast},   {"input", Kind::Input},
      {"grad", Kind::Grad},     {"state", Kind::State},         {"keep", Kind::Keep},
      {"loop", Kind::Repeat},   {"passed", Kind::Passed},
  };
  for (const auto& [own, kind] : kKinds) {
    if (own == word) return kind;
  }
  return Kind::Op;
}

/// What those who play it count on.
void require_operands(const Instruction& instruction) {
  using Kind = Instruction::Kind;
  const auto is_tensor = [](const Operand& each) { return each.kind == Operand::Kind::Register; };
  const auto is_size = [](const Operand& each) { return each.kind == Operand::Kind::Size; };
  const auto of_program = [](const Operand& each) {
    return each.tensor.scope == Register::Scope::Program;
  };
  const auto& args = instruction.args;
  std::size_t least = 0;
  std::size_t results = 0;
  switch (instruction.kind) {
    case Kind::Op:
      least = instruction.name == "linear" ? 2 : 0;
      break;
    case Kind::Parameter:
      least = results = 1;
      break;
    case Kind::Bind:
    case Kind::State:
    case Kind::Keep:
      least = 2;
      break;
    case Kind::Autocast:
    case Kind::Grad:
    case Kind::Give:
      least = 1;
      break;
    case Kind::Input:
      results = 1;
      break;
    default:
      break;
  }
  const bool of_tensors = instruction.kind == Kind::Free || instruction.kind == Kind::Give ||
                          instruction.kind == Kind::Layers || instruction.kind == Kind::Return ||
                          instruction.kind == Kind::Passed;
  const bool first_is_tensor = instruction.kind == Kind::Op || instruction.kind == Kind::Autocast ||
                               instruction.kind == Kind::Grad || args.empty() ||
                               instruction.kind == Kind::Repeat || is_tensor(args.front()) ||
                               instruction.kind == Kind::Given;
  if (args.size() < least || instruction.results.size() < results || !first_is_tensor ||
      (of_tensors && !std::all_of(args.begin(), args.end(), is_tensor)) ||
      (instruction.kind == Kind::Keep && !is_tensor(args[1])) ||
      (instruction.kind == Kind::Repeat && !std::all_of(args.begin(), args.end(), is_size)) ||
      (instruction.kind == Kind::Bind && args[1].kind != Operand::Kind::Parameter) ||
      (instruction.kind == Kind::Passed && !std::all_of(args.begin(), args.end(), of_program))) {
    throw BadInput("'" + instruction.name + "' lacks what it is of");
  }
}

Instruction instruction_of(const std::vector<std::string_view>& words, States& states) {
  Instruction instruction;
  std::size_t next = 0;
  if (words.size() > 2 && words[1] == "=") {
    instruction.results = registers_of(words[0], states);
    next = 2;
  }
  instruction.name = words[next];
  instruction.kind = kind_of(instruction.name);
  if (instruction.kind == Instruction::Kind::Op) {
    instruction.op = aten::find_op(instruction.name);
  }
  ++next;
  if (instruction.kind == Instruction::Kind::Input) {
    if (next >= words.size()) throw BadInput("ends early");
    instruction.name = words[next++];
  }
  instruction.args.reserve(words.size() - next);
  for (; next < words.size(); ++next) {
    instruction.args.push_back(operand_of(words[next], states));
  }
  require_operands(instruction);
  return instruction;
}

/// A size, a fraction, or "power_of_two".
OpTape::Held operand_held(std::string_view word) {
  if (word == "power_of_two") return {};
  if (const auto real = real_named(word)) return *real;
  return Expression::parse(word);
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  OpTape read() {
    try {
      if (!next() || line_ != kFirstLine)
        throw BadInput("does not begin '" + std::string(kFirstLine) + "'");
      while (next()) statement();
      tape_.find_modules();
    } catch (const BadInput& refusal) {
      throw BadInput("tape: line " + std::to_string(number_) + ": " + refusal.what());
    }
    return std::move(tape_);
  }

 private:
  bool next() {
    do {
      if (rest_.empty()) return false;
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      line_ = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      split_words(line_, words_);
    } while (words_.empty());
    return true;
  }

  std::string word(std::size_t i) const {
    if (i >= words_.size()) throw BadInput("ends early");
    return std::string(words_[i]);
  }

  void statement() {
    const std::string first = word(0);
    if (first == "model_type") {
      tape_.model_type = word(1);
    } else if (first == "layers") {
      tape_.layers_key = word(1);
      tape_.layers_path = word(2);
    } else if (first == "attention") {
      tape_.attention = word(1);
    } else if (first == "flag") {
      tape_.flags[word(1)] = {word(2), word(words_.size() > 3 ? 3 : 2)};
    } else if (first == "holds") {
      tape_.holds.emplace_back(word(1), operand_held(word(2)));
    } else if (first == "alias") {
      tape_.aliases[word(1)] = word(2);
    } else if (first == "cycle") {
      if (words_.size() < 3) throw BadInput("ends early");
      tape_.cycles[word(1)] = {words_.begin() + 2, words_.end()};
    } else if (first == "kinds") {
      tape_.kinds = {words_.begin() + 1, words_.end()};
    } else if (first == "lora_targets") {
      tape_.lora_targets = {words_.begin() + 1, words_.end()};
    } else if (first == "no_targets") {
      tape_.no_targets = {words_.begin() + 1, words_.end()};
    } else if (first == "expert_targets") {
      tape_.expert_targets = {words_.begin() + 1, words_.end()};
    } else if (first == "embedding") {
      if (word(1) != "scaled") throw BadInput("an embedding that is '" + word(1) + "'");
      tape_.scales_embedding = true;
    } else if (first == "windows") {
      tape_.windows = {words_.begin() + 1, words_.end()};
    } else if (first == "default") {
      tape_.defaults[word(1)] = Expression::parse(word(2));
    } else if (first == "null") {
      auto& taken = tape_.nulls[word(1)];
      if (words_.size() > 2) taken = Expression::parse(word(2));
    } else if (first == "parameters") {
      parameters();
    } else if (first == "program") {
      program();
    } else if (first == "without") {
      if (word(1) == "checkpointing") tape_.checkpoints = false;
      if (word(1) == "fp16") tape_.has_fp16 = false;
    } else if (first != "made") {
      throw BadInput("'" + first + "' begins no line of a tape");
    }
  }

  void parameters() {
    std::vector<NamedTensor>* into = &tape_.before;
    for (;;) {
      if (!next()) throw BadInput("ends early");
      const std::string first = word(0);
      if (first == "end") {
        if (into == &tape_.before || into == &tape_.behind) return;
        into = &tape_.behind;
      } else if (first == "layer") {
        into = &tape_.of_layer[word(1)];
      } else {
        NamedTensor named;
        named.path = word(1);
        named.is_buffer = first != "parameter";
        if (words_.size() > 3) named.tied_to = word(3);
        into->push_back(std::move(named));
      }
    }
  }

  void program() {
    std::string name;
    for (std::size_t i = 1; i < words_.size(); ++i) name += (i > 1 ? " " : "") + word(i);
    Program& program = tape_.programs[name];
    for (;;) {
      if (!next()) throw BadInput("ends early");
      if (word(0) == "end") {
        for (const auto& [kind, layer] : program.layers) {
          if (layer.of_program <= program.main.of_program) continue;
          throw BadInput("a layer takes of its program what that has not");
        }
        if (program.main.steps.empty()) throw BadInput("a program without its main part");
        return;
      }
      if (word(0) == "layer") {
        Body& layer = program.layers[word(1)];
        if (words_.size() > 2) {
          layer = program_as(3).layers[word(1)];
        } else {
          layer = Body(steps("end"));
          for (const Instruction& each : layer.steps) {
            if (each.kind == Instruction::Kind::Layers) throw BadInput("layers within a layer");
          }
        }
      } else if (word(0) == "main") {
        if (words_.size() > 1) {
          program.main = program_as(2).main;
        } else {
          program.main = Body(steps("end"));
        }
      } else {
        throw BadInput("'" + word(0) + "' begins no part of a program");
      }
    }
  }

  /// The program that the words from there on name, which came before.
  Program& program_as(std::size_t first) {
    std::string name = word(first);
    for (std::size_t i = first + 1; i < words_.size(); ++i) name += " " + word(i);
    const auto found = tape_.programs.find(name);
    if (found == tape_.programs.end()) throw BadInput("no program '" + name + "' came before");
    return found->second;
  }

  std::vector<Instruction> steps(std::string_view last) {
    std::vector<Instruction> all;
    for (;;) {
      if (!next()) throw BadInput("ends early");
      if (word(0) == last) return all;
      all.push_back(instruction_of(words_, tape_.states));
      const Instruction::Kind kind = all.back().kind;
      if (last != "end" && kind != Instruction::Kind::Op && kind != Instruction::Kind::Free) {
        throw BadInput("'" + all.back().name + "' within a loop");
      }
      if (kind != Instruction::Kind::Repeat) continue;
      if (all.back().args.size() != 3) throw BadInput("a loop has a count and its registers");
      all.back().body = steps("again");
    }
  }

  std::string_view rest_;
  std::string_view line_;
  std::vector<std::string_view> words_;
  int number_ = 0;
  OpTape tape_;
};

}  // namespace

OpTape read_op_tape(std::string_view text) { return Reader(text).read(); }

}  // namespace vramfit::pytorch
