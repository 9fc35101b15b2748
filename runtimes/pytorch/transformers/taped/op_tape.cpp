#include "runtimes/pytorch/transformers/taped/op_tape.h"

#include <algorithm>
#include <set>
#include <utility>

#include "model/errors.h"
#include "runtimes/pytorch/transformers/taped/read_program.h"

namespace vramfit::pytorch {

void each_register(std::span<const Instruction> steps,
                   const std::function<void(const Register&)>& see) {
  const std::function<void(const Operand&)> look = [&](const Operand& operand) {
    if (operand.kind == Operand::Kind::Register) see(operand.tensor);
    for (const Operand& each : operand.list) look(each);
  };
  for (const Instruction& each : steps) {
    for (const Register& place : each.results) see(place);
    for (const Operand& operand : each.args) look(operand);
    each_register(each.body, see);
  }
}

Body::Body(std::vector<Instruction> steps_) : steps(std::move(steps_)) {
  std::set<std::uint32_t> named;
  each_register(steps, [&](const Register& place) {
    const std::size_t least = std::size_t{place.number} + 1;
    switch (place.scope) {
      case Register::Scope::Program:
        of_program = std::max(of_program, least);
        named.insert(place.number);
        break;
      case Register::Scope::Layer:
        of_layer = std::max(of_layer, least);
        break;
      case Register::Scope::Carried:
        carried = std::max(carried, least);
        break;
      default:
        break;
    }
  });
  shared.assign(named.begin(), named.end());
  std::set<std::uint32_t> used;
  for (const Instruction& each : steps) {
    Instruction taken = each;
    taken.results.clear();
    each_register({&taken, 1}, [&](const Register& place) {
      if (place.scope == Register::Scope::Program) used.insert(place.number);
    });
    for (const Register& place : each.results) {
      const bool is_new = place.scope == Register::Scope::Program && !used.contains(place.number);
      if (is_new) made.push_back(place.number);
    }
    if (each.kind != Instruction::Kind::Passed) continue;
    for (const Operand& operand : each.args) passed.push_back(operand.tensor.number);
  }
}

namespace {

bool is_in(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

void add(std::vector<std::string>& list, std::string name) {
  if (!is_in(list, name)) list.push_back(std::move(name));
}

}  // namespace

bool OpTape::multiplies_by(const std::string& path) const { return is_in(linears, path); }
bool OpTape::looks_up_in(const std::string& path) const { return is_in(embeddings, path); }

bool OpTape::gives_tuple(const std::string& path) const {
  return std::any_of(tuple_targets.begin(), tuple_targets.end(), [&](const std::string& name) {
    return path.ends_with('.' + name + ".weight");
  });
}

std::vector<std::string> OpTape::projections() const {
  std::vector<std::string> all;
  for (const std::string& path : linears) {
    if (!path.starts_with('.')) continue;
    std::string name = path.substr(0, path.rfind('.'));
    name = name.substr(name.rfind('.') + 1);
    if (!is_in(no_targets, name)) add(all, std::move(name));
  }
  return all;
}

namespace {

constexpr std::string_view kEmbedding = "embedding";

void place_parameters(std::vector<Instruction>& steps,
                      const std::function<std::uint32_t(const std::string&)>& place) {
  const std::function<void(Operand&)> look = [&](Operand& operand) {
    if (operand.kind == Operand::Kind::Parameter) operand.place = place(operand.path);
    for (Operand& each : operand.list) look(each);
  };
  for (Instruction& each : steps) {
    for (Operand& operand : each.args) look(operand);
    place_parameters(each.body, place);
    each.is_linear = each.kind == Instruction::Kind::Op && each.name == "linear" &&
                     each.args[0].kind == Operand::Kind::Register &&
                     each.args[1].kind == Operand::Kind::Parameter;
  }
}

/// A forward first looks up tokens.
void mark_embedding(std::vector<Instruction>& steps, bool scales) {
  const auto lookup = std::find_if(steps.begin(), steps.end(), [](const Instruction& each) {
    return each.kind == Instruction::Kind::Op && each.name == kEmbedding && !each.args.empty() &&
           each.args[0].kind == Operand::Kind::Parameter;
  });
  if (lookup == steps.end()) return;
  lookup->begins_embedding = true;
  const auto last =
      scales ? std::find_if(lookup, steps.end(),
                            [](const Instruction& each) { return each.name == "mul.Tensor"; })
             : lookup;
  if (last == steps.end()) throw BadInput("an embedding that is scaled, and nothing multiplies it");
  last->ends_embedding = true;
}

/// What makes the weights of these names, which are bound to them at the end.
void mark_tied(std::vector<Instruction>& steps, const std::vector<std::string>& tied) {
  std::set<std::uint32_t> places;
  for (auto each = steps.rbegin(); each != steps.rend(); ++each) {
    const bool binds = each->kind == Instruction::Kind::Bind && is_in(tied, each->args[1].path);
    const bool makes = !each->results.empty() && places.contains(each->results[0].number);
    if (binds || (makes && each->kind == Instruction::Kind::Parameter)) {
      places.insert(each->args[0].tensor.number);
    } else if (makes) {
      each->makes_tied = true;
      places.erase(each->results[0].number);
    }
  }
}

}  // namespace

void OpTape::number_parameters() {
  const auto place = [this](const std::string& path) {
    return places.try_emplace(path, static_cast<std::uint32_t>(places.size())).first->second;
  };
  const auto number = [&](std::vector<NamedTensor>& part) {
    for (NamedTensor& named : part) named.place = place(named.path);
  };
  std::set<std::string> known;
  for (const std::vector<NamedTensor>* part : {&before, &behind}) {
    for (const NamedTensor& named : *part) {
      if (!named.is_buffer) known.insert(named.path);
      if (named.tied_to.empty() || known.contains(named.tied_to)) continue;
      throw BadInput("'" + named.tied_to +
                     "', that a weight is tied to, is no parameter before it");
    }
  }
  for (const auto& [kind, part] : of_layer) {
    for (const NamedTensor& named : part) {
      if (!named.tied_to.empty()) throw BadInput("a layer's weight that is tied to another");
    }
  }
  number(before);
  number(behind);
  for (auto& [kind, part] : of_layer) number(part);
}

void OpTape::find_modules() {
  const Program* const train = program("train");
  if (train == nullptr) return;
  const auto find_in = [this](const Body& body) {
    for (const Instruction& each : body.steps) {
      if (each.is_linear) add(linears, each.args[1].path);
      if (each.name != kEmbedding) continue;
      for (const Operand& operand : each.args) {
        if (operand.kind == Operand::Kind::Parameter) add(embeddings, operand.path);
      }
    }
  };
  find_in(train->main);
  for (const auto& [kind, layer] : train->layers) find_in(layer);
}

void OpTape::prepare(const std::string& name, Program& program) const {
  const auto place = [this](const std::string& path) {
    const auto found = places.find(path);
    if (found == places.end()) throw BadInput("tape: '" + path + "' is no parameter or buffer");
    return found->second;
  };
  place_parameters(program.main.steps, place);
  for (auto& [kind, layer] : program.layers) place_parameters(layer.steps, place);
  mark_embedding(program.main.steps, scales_embedding);
  if (name != "init tied") return;
  std::vector<std::string> tied;
  for (const std::vector<NamedTensor>* part : {&before, &behind}) {
    for (const NamedTensor& named : *part) {
      if (!named.tied_to.empty()) tied.push_back(named.path);
    }
  }
  mark_tied(program.main.steps, tied);
}

const Program* OpTape::program(const std::string& name) const {
  const auto found = written.find(name);
  if (found == written.end()) return nullptr;
  const std::lock_guard lock(read_->mutex);
  const auto known = read_->programs.find(name);
  if (known != read_->programs.end()) return &known->second;
  Program program = read_program(found->second, states);
  prepare(name, program);
  return &read_->programs.emplace(name, std::move(program)).first->second;
}

}  // namespace vramfit::pytorch
