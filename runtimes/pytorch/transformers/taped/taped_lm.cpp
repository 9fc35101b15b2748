#include "runtimes/pytorch/transformers/taped/taped_lm.h"

#include <algorithm>
#include <functional>

#include "model/errors.h"
#include "runtimes/pytorch/torch/autograd/reentrant_checkpoint.h"
#include "runtimes/pytorch/torch/tensor/checkpoint.h"

namespace vramfit::pytorch {
namespace {

/// Every register that a body names.
template <typename See>
void each_register(const Body& body, const See& see) {
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

/// The program's registers that a layer is called with, which recomputing it needs again.
std::vector<Tensor> shared_with(const Body& layer, const std::vector<Tensor>& program) {
  std::vector<Tensor> shared(program.size());
  each_register(layer, [&](const Register& place) {
    if (place.scope == Register::Scope::Program) shared[place.number] = program[place.number];
  });
  return shared;
}

const Program& program_named(const OpTape& tape, const std::string& name) {
  const auto found = tape.programs.find(name);
  if (found == tape.programs.end()) {
    throw BadInput(tape.model_type + ": its tape does not say how it does that (" + name + ")");
  }
  return found->second;
}

/// What names the module of a parameter: "mlp.gate_proj" of "mlp.gate_proj.weight". One that is
/// called otherwise is taken for a module by itself.
std::string module_of(const std::string& path) {
  for (const std::string_view suffix : {".weight", ".bias"}) {
    if (path.ends_with(suffix)) return path.substr(0, path.size() - suffix.size());
  }
  return path;
}

bool uses(const Program& program, std::string_view op, const std::string& parameter) {
  const auto in = [&](const Body& body) {
    return std::any_of(body.begin(), body.end(), [&](const Instruction& each) {
      return each.name == op &&
             std::any_of(each.args.begin(), each.args.end(), [&](const Operand& operand) {
               return operand.kind == Operand::Kind::Parameter && operand.path == parameter;
             });
    });
  };
  return in(program.main) || std::any_of(program.layers.begin(), program.layers.end(),
                                         [&](const auto& layer) { return in(layer.second); });
}

/// The tokens are the first of what a program is given.
bool embeds_tokens(const Instruction& instruction) {
  if (instruction.name != "embedding.default" || instruction.args.size() < 2) return false;
  const Operand& tokens = instruction.args[1];
  return tokens.kind == Operand::Kind::Register &&
         tokens.tensor.scope == Register::Scope::Program && tokens.tensor.number == 0;
}

}  // namespace

TapedLm::TapedLm(Context& context, const OpTape& tape, const ModelConfig& config,
                 const ModelSettings& settings)
    : CausalLm(context, config, settings), tape_(tape), keys_(*config.source, tape) {
  build();
}

const std::string& TapedLm::kind_of(std::int64_t layer) const {
  return config_.taped->layer_kinds.at(static_cast<std::size_t>(layer));
}

std::string TapedLm::prefix_of(std::int64_t layer) const {
  return tape_.layers_path + "." + std::to_string(layer);
}

void TapedLm::build() {
  const Program& program = program_named(tape_, config_.tied_head ? "init tied" : "init");
  Registers own(registers_in(program.main, Register::Scope::Program));
  Registers none;
  const Symbols sizes = [this](const std::string& name) { return keys_(name); };
  const Setting shapes_alone(context_.elsewhere, context_.elsewhere || context_.meta);
  std::vector<std::pair<std::string, Tensor>> bound;
  Frame frame{own, none, none, {}, sizes, &bound};
  run(program, program.main, frame);
  const std::unordered_map<std::string, Tensor> made(bound.begin(), bound.end());
  const auto take = [&](const std::vector<NamedTensor>& all, const std::string& prefix,
                        std::optional<std::int64_t> layer) {
    for (const NamedTensor& named : all) {
      const std::string path = prefix + named.path;
      if (named.is_buffer) {
        buffers_.push_back(made.at(path));
        tensors_[path] = &buffers_.back();
        continue;
      }
      const bool tied = config_.tied_head && !named.tied_to.empty();
      const std::string name = module_of(path);
      Module*& module = by_path_[name];
      if (module == nullptr) {
        module = &modules_.emplace_back(Module{name, layer, Norm()});
        const Program& forward = program_named(tape_, "train");
        if (uses(forward, "linear.default", named.path)) module->module = Linear();
        if (uses(forward, "embedding.default", named.path)) module->module = Embedding();
      }
      std::visit(
          [&](auto& own_module) {
            Tensor* place = &own_module.weight;
            if constexpr (requires { own_module.bias; }) {
              if (path.ends_with(".bias")) place = &own_module.bias;
            }
            *place = made.at(tied ? named.tied_to : path);
            tensors_[path] = place;
          },
          module->module);
    }
  };
  take(tape_.before, "", std::nullopt);
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    take(tape_.of_layer.at(kind_of(i)), prefix_of(i), i);
  }
  take(tape_.behind, "", std::nullopt);
}

std::vector<CausalLm::NamedModule> TapedLm::named_modules() {
  std::vector<NamedModule> all;
  for (Module& module : modules_) {
    NamedModule named{module.path, {}, module.layer};
    std::visit([&](auto& own) { named.module = &own; }, module.module);
    all.push_back(std::move(named));
  }
  return all;
}

std::vector<Tensor*> TapedLm::buffers() {
  std::vector<Tensor*> all;
  for (Tensor& buffer : buffers_) all.push_back(&buffer);
  return all;
}

void TapedLm::tie_weights() {
  if (!config_.tied_head) return;
  for (const std::vector<NamedTensor>* part : {&tape_.before, &tape_.behind}) {
    for (const NamedTensor& named : *part) {
      if (!named.tied_to.empty()) *tensors_.at(named.path) = *tensors_.at(named.tied_to);
    }
  }
}

Tensor& TapedLm::at(const Register& place, const Frame& frame) {
  switch (place.scope) {
    case Register::Scope::Layer:
      return frame.layer.at(place.number);
    case Register::Scope::Carried:
      return frame.carried.at(place.number);
    default:
      return frame.program.at(place.number);
  }
}

aten::Value TapedLm::value_of(const Operand& operand, const Frame& frame) const {
  switch (operand.kind) {
    case Operand::Kind::None:
      return {};
    case Operand::Kind::Register: {
      const Tensor& tensor = at(operand.tensor, frame);
      if (!tensor.defined()) throw BadInput(tape_.model_type + ": its tape uses what it has not");
      return tensor;
    }
    case Operand::Kind::Parameter: {
      const bool of_layer = operand.path.starts_with('.');
      const auto found = tensors_.find(of_layer ? frame.prefix + operand.path : operand.path);
      if (found == tensors_.end()) throw BadInput("tape: no parameter '" + operand.path + "'");
      return *found->second;
    }
    case Operand::Kind::Size:
      return operand.size.value(frame.sizes);
    case Operand::Kind::Real:
      return operand.real;
    case Operand::Kind::Bool:
      return operand.flag;
    case Operand::Kind::Type:
      return operand.type;
    case Operand::Kind::ModelType:
      return settings_.type;
    case Operand::Kind::AutocastType:
      return context_.autocast.state().value_or(settings_.type);
    case Operand::Kind::List:
      break;
  }
  std::vector<aten::Value> list;
  for (const Operand& each : operand.list) list.push_back(value_of(each, frame));
  return list;
}

const Linear* TapedLm::linear_of(const Instruction& instruction, const Frame& frame) const {
  if (instruction.name != "linear.default") return nullptr;
  const Operand& weight = instruction.args[1];
  if (weight.kind != Operand::Kind::Parameter) return nullptr;
  const std::string path = weight.path.starts_with('.') ? frame.prefix + weight.path : weight.path;
  return std::get_if<Linear>(&by_path_.at(module_of(path))->module);
}

void TapedLm::execute(const Instruction& instruction, Frame& frame) const {
  if (instruction.op == nullptr) {
    throw BadInput(tape_.model_type + ": torch's " + instruction.name +
                   " is not predicted yet; vramfit model runs it");
  }
  aten::Results results;
  if (const Linear* linear = linear_of(instruction, frame)) {
    results.push_back((*linear)(at(instruction.args[0].tensor, frame)));
  } else {
    std::vector<aten::Value> args;
    args.reserve(instruction.args.size());
    for (const Operand& each : instruction.args) args.push_back(value_of(each, frame));
    try {
      results = instruction.op(aten::Call(context_, args));
    } catch (const BadInput& refusal) {
      throw BadInput(tape_.model_type + ": torch's " + instruction.name + ": " + refusal.what());
    }
  }
  // enable_input_require_grads, which PEFT needs under checkpointing.
  if (lora_ && settings_.checkpoint != GradientCheckpointing::None && embeds_tokens(instruction)) {
    results.at(0).impl()->requires_grad = true;
  }
  for (std::size_t i = 0; i < instruction.results.size(); ++i) {
    if (instruction.results[i].scope == Register::Scope::None) continue;
    at(instruction.results[i], frame) = std::move(results.at(i));
  }
}

void TapedLm::run(const Program& program, const Body& body, Frame& frame) const {
  std::optional<AutocastScope> off;
  for (const Instruction& each : body) {
    switch (each.kind) {
      case Instruction::Kind::Op:
        execute(each, frame);
        break;
      case Instruction::Kind::Free:
        for (const Operand& operand : each.args) at(operand.tensor, frame).reset();
        break;
      case Instruction::Kind::Parameter: {
        Tensor made = at(each.args[0].tensor, frame).detach();
        made.impl()->requires_grad = is_floating(made.type());
        at(each.results[0], frame) = std::move(made);
        break;
      }
      case Instruction::Kind::Bind:
        if (Storage& memory = *at(each.args[0].tensor, frame).impl()->storage; memory.origin) {
          if (memory.category != Category::Parameters) memory.relabel(Category::Parameters);
        }
        frame.bound->emplace_back(each.args[1].path.starts_with('.')
                                      ? frame.prefix + each.args[1].path
                                      : each.args[1].path,
                                  std::move(at(each.args[0].tensor, frame)));
        break;
      case Instruction::Kind::Layers:
        run_layers(program, each, frame);
        break;
      case Instruction::Kind::Repeat:
        repeat(program, each, frame);
        break;
      case Instruction::Kind::Give: {
        Registers given;
        for (const Operand& operand : each.args) {
          given.push_back(std::move(at(operand.tensor, frame)));
        }
        frame.carried = std::move(given);
        break;
      }
      case Instruction::Kind::Autocast:
        if (each.args[0].flag) {
          off.reset();
        } else {
          off.emplace(context_.autocast, std::nullopt);
        }
        break;
      case Instruction::Kind::Given:
      case Instruction::Kind::Return:
        break;
    }
  }
}

void TapedLm::repeat(const Program& program, const Instruction& loop, Frame& frame) const {
  const auto number = [&](std::size_t i) { return loop.args[i].size.value(frame.sizes); };
  const std::int64_t rounds = number(0);
  const std::int64_t stride = number(1);
  const std::int64_t first = number(2);
  Registers& own = frame.prefix.empty() ? frame.program : frame.layer;
  constexpr std::int64_t kMostRounds = 1'000'000;
  if (rounds > kMostRounds) throw BadInput("tape: a loop of " + std::to_string(rounds) + " rounds");
  if (rounds < 0) {
    throw BadInput(tape_.model_type +
                   ": was recorded with longer sequences; vramfit model runs it");
  }
  const auto count = static_cast<std::int64_t>(own.size());
  if (stride < 1 || first < stride || first > count - stride) {
    throw BadInput("tape: a loop makes what it has no place for");
  }
  const auto made = own.begin() + first;
  for (std::int64_t i = 0; i < rounds; ++i) {
    run(program, loop.body, frame);
    std::move(made, made + stride, made - stride);
  }
}

void TapedLm::run_layer(const Program& program, std::int64_t layer, Frame& frame) const {
  const Body& body = program.layers.at(kind_of(layer));
  Registers own(registers_in(body, Register::Scope::Layer));
  frame.carried.resize(
      std::max(frame.carried.size(), registers_in(body, Register::Scope::Carried)));
  Frame inner{frame.program, own, frame.carried, prefix_of(layer), frame.sizes, frame.bound};
  run(program, body, inner);
}

void TapedLm::run_layers(const Program& program, const Instruction& layers, Frame& frame) const {
  Registers carried;
  for (const Operand& operand : layers.args) carried.push_back(at(operand.tensor, frame));
  Frame inner{frame.program, frame.layer, carried, {}, frame.sizes, frame.bound};
  const bool checkpoints = !carried.empty() && settings_.checkpoint != GradientCheckpointing::None;
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    const LayerScope acts(context_, static_cast<int>(i));
    if (!checkpoints) {
      run_layer(program, i, inner);
      continue;
    }
    const auto forward =
        [this, &program, i, sizes = frame.sizes,
         shared = shared_with(program.layers.at(kind_of(i)), frame.program)](const Tensor& input) {
          Registers all = shared;
          Registers none;
          Registers handed{input};
          Frame own{all, none, handed, {}, sizes, nullptr};
          run_layer(program, i, own);
          return std::move(handed.front());
        };
    const Tensor hidden = std::move(carried.front());
    carried = {settings_.checkpoint == GradientCheckpointing::Full
                   ? checkpoint(context_, forward, hidden)
                   : reentrant_checkpoint(context_, forward, hidden)};
  }
  carried.resize(std::max(carried.size(), layers.results.size()));
  for (std::size_t i = 0; i < layers.results.size(); ++i) {
    if (layers.results[i].scope == Register::Scope::None) continue;
    at(layers.results[i], frame) = std::move(carried[i]);
  }
}

// A program that a tape leaves out is as the first. Eager attention is recorded in 16 bits alone.
const Program& TapedLm::forward_program() const {
  const bool eager = settings_.attention == AttentionKind::Eager && tape_.attention != "eager";
  const bool cast = context_.autocast.enabled();
  const bool wide = settings_.type == ScalarType::Float;
  if (eager && (cast || wide)) {
    throw BadInput("attention: eager in fp32 or under autocast is not predicted of " +
                   tape_.model_type + " yet; vramfit model runs it");
  }
  std::string name = "train";
  if (eager) name += " eager";
  if (wide) name += " fp32";
  if (cast) name += " autocast";
  const auto own = tape_.programs.find(name);
  return own != tape_.programs.end() ? own->second : program_named(tape_, "train");
}

// Where a window hides something, transformers makes masks for sdpa that it does without otherwise.
void TapedLm::require_recorded(std::int64_t seq) const {
  if (settings_.attention == AttentionKind::Eager || tape_.attention == "eager") return;
  const bool slides = !keys_.has("use_sliding_window") || keys_("use_sliding_window") != 0;
  for (const char* key : {"sliding_window", "attention_chunk_size"}) {
    if (!slides || !keys_.has(key)) continue;
    const std::int64_t window = keys_(key);
    if (window == 0 || seq < window) continue;
    throw BadInput("seq: " + std::to_string(seq) + "; " + tape_.model_type +
                   " was recorded below its window of " + std::to_string(window) +
                   " tokens; vramfit model runs it");
  }
}

CausalLm::Output TapedLm::forward(const Tensor& ids, bool) const {
  require_recorded(ids.size(1));
  const Program& program = forward_program();
  Registers own(registers_in(program.main, Register::Scope::Program));
  Registers none;
  const Symbols sizes = [this, batch = ids.size(0), seq = ids.size(1)](const std::string& name) {
    return name == "B" ? batch : name == "S" ? seq : keys_(name);
  };
  Frame frame{own, none, none, {}, sizes, nullptr};
  own.at(0) = ids;
  run(program, program.main, frame);
  own.at(0).reset();
  Output output;
  const Instruction& result = program.main.back();
  output.loss = std::move(at(result.args.at(0).tensor, frame));
  output.logits = std::move(at(result.args.at(1).tensor, frame));
  for (Tensor& left : own) {
    if (left.defined()) output.rest.push_back(std::move(left));
  }
  return output;
}

Tensor TapedLm::forward(const Tensor&, const StepInputs&) const {
  throw BadInput(tape_.model_type + ": generation is not predicted yet; vramfit model runs it");
}

}  // namespace vramfit::pytorch
