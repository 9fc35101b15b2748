#include "runtimes/pytorch/transformers/taped/read_instruction.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "model/errors.h"
#include "model/printable.h"
#include "runtimes/pytorch/torch/aten/ops.h"

namespace vramfit::pytorch {
namespace {

constexpr std::uint32_t kMostRegisters = 100'000;
constexpr int kMostNested = 20;  // lists in lists

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

Register state_named(std::string_view name, const States& states) {
  const auto found = std::find(states.begin(), states.end(), name);
  if (found == states.end()) {
    throw BadInput("'" + std::string(name) + "' is nothing that a layer keeps");
  }
  return {Register::Scope::State, static_cast<std::uint32_t>(found - states.begin())};
}

std::optional<Register> register_named(std::string_view word, const States& states) {
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

}  // namespace

std::optional<double> real_named(std::string_view word) {
  const bool number = word.find_first_not_of("+-0123456789.e") == std::string_view::npos;
  const bool whole = word.find_first_of(".e") == std::string_view::npos;
  if (word == "inf" || word == "-inf" || word == "nan") return 0;
  if (!number || whole) return std::nullopt;
  return std::strtod(std::string(word).c_str(), nullptr);
}

Operand operand_of(std::string_view word, const States& states, int nested) {
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
    if (nested == kMostNested || !word.ends_with(']')) {
      throw BadInput("'" + shortened(word, 40) + "' is no list that a tape can have");
    }
    for (const std::string_view part : parts_of(word.substr(1, word.size() - 2))) {
      operand.list.push_back(operand_of(part, states, nested + 1));
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

namespace {

/// "_": no tensor, or one that nobody asks for.
std::vector<Register> registers_of(std::string_view word, const States& states) {
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
      {"loop", Kind::Repeat},   {"passed", Kind::Passed},       {"gradient", Kind::Gradient},
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
  // A result, its gradient, and two lists of tensors.
  const auto is_gradient = [&](const std::vector<Operand>& all) {
    return all.size() == 4 && is_tensor(all[0]) && is_tensor(all[1]) &&
           std::all_of(all.begin() + 2, all.end(), [&](const Operand& each) {
             return std::all_of(each.list.begin(), each.list.end(), is_tensor);
           });
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
    case Kind::Repeat:
      least = 3;
      break;
    case Kind::Gradient:
      least = 4;
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
      (instruction.kind == Kind::Gradient && !is_gradient(args)) ||
      (instruction.kind == Kind::Repeat && !std::all_of(args.begin(), args.end(), is_size)) ||
      (instruction.kind == Kind::Bind && args[1].kind != Operand::Kind::Parameter) ||
      (instruction.kind == Kind::Passed && !std::all_of(args.begin(), args.end(), of_program))) {
    throw BadInput("'" + instruction.name + "' lacks what it is of");
  }
}

}  // namespace

Instruction instruction_of(const std::vector<std::string_view>& words, const States& states) {
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
  // Tensor.to(device), for which PyTorch's bindings name the type that the tensor has: never a
  // cast, whatever type the run has (dispatch_to, torch/csrc/autograd/python_variable_methods.cpp).
  if (instruction.name == "to.dtype_layout" && !instruction.args.empty()) {
    instruction.args.resize(1);
  }
  require_operands(instruction);
  return instruction;
}

}  // namespace vramfit::pytorch
