#include "runtimes/pytorch/transformers/taped/op_tape.h"

#include <algorithm>

namespace vramfit::pytorch {

void each_register(std::span<const Instruction> body,
                   const std::function<void(const Register&)>& see) {
  const std::function<void(const Operand&)> look = [&](const Operand& operand) {
    if (operand.kind == Operand::Kind::Register) see(operand.tensor);
    for (const Operand& each : operand.list) look(each);
  };
  for (const Instruction& each : body) {
    for (const Register& place : each.results) see(place);
    for (const Operand& operand : each.args) look(operand);
    each_register(each.body, see);
  }
}

std::size_t registers_in(const Body& body, Register::Scope scope) {
  std::size_t count = 0;
  each_register(body, [&](const Register& place) {
    if (place.scope == scope) count = std::max<std::size_t>(count, place.number + 1);
  });
  return count;
}

std::vector<std::string> OpTape::projections() const {
  std::vector<std::string> all;
  const auto train = programs.find("train");
  if (train == programs.end()) return all;
  for (const auto& [kind, body] : train->second.layers) {
    for (const Instruction& each : body) {
      if (each.name != "linear.default" || each.args[1].kind != Operand::Kind::Parameter) continue;
      std::string name = each.args[1].path.substr(0, each.args[1].path.rfind('.'));
      name = name.substr(name.rfind('.') + 1);
      const auto is_in = [&name](const std::vector<std::string>& list) {
        return std::find(list.begin(), list.end(), name) != list.end();
      };
      if (!is_in(no_targets) && !is_in(all)) all.push_back(std::move(name));
    }
  }
  return all;
}

std::string OpTape::embedding() const {
  const auto train = programs.find("train");
  if (train == programs.end()) return {};
  for (const Instruction& each : train->second.main) {
    if (each.name == kEmbedding && !each.args.empty()) return each.args[0].path;
  }
  return {};
}

}  // namespace vramfit::pytorch
