// How a TapedLm does what its tape says, instruction by instruction.
#include <algorithm>
#include <memory>
#include <span>

#include "model/errors.h"
#include "runtimes/pytorch/torch/tensor/graph.h"
#include "runtimes/pytorch/transformers/taped/handed.h"
#include "runtimes/pytorch/transformers/taped/taped_lm.h"

namespace vramfit::pytorch {
namespace {

/// Of other sizes, in memory that is as it was: what so many tokens more would have left, until a
/// forward makes it anew.
Tensor resized(const Tensor& tensor, const Dims& sizes) {
  if (tensor.sizes() == sizes) return tensor;
  return Tensor(Ref<TensorImpl>(
      new TensorImpl(tensor.impl()->storage, sizes, contiguous_strides(sizes), tensor.type())));
}

}  // namespace

Tensor& TapedLm::at(const Register& place, const Frame& frame) {
  Registers* all = &frame.program;
  if (place.scope == Register::Scope::Layer) all = &frame.layer;
  if (place.scope == Register::Scope::Carried) all = &frame.carried;
  if (place.scope == Register::Scope::State) all = frame.state;
  if (all == nullptr) throw BadInput("tape: nothing is kept there");
  if (place.number >= all->size()) throw BadInput("tape: names what is not there");
  return (*all)[place.number];
}

Tensor& TapedLm::made_at(const Register& place, const Frame& frame) const {
  Tensor& tensor = at(place, frame);
  if (!tensor.defined()) throw BadInput(tape_.model_type + ": its tape uses what it has not");
  return tensor;
}

template <typename Places>
auto& TapedLm::at(Places& all, const Operand& parameter, const Frame& frame) {
  const bool of_layer = parameter.path.starts_with('.');
  return all.at(of_layer ? static_cast<std::size_t>(frame.index + 1) : 0)[parameter.place];
}

aten::Value TapedLm::value_of(const Operand& operand, const Frame& frame) const {
  switch (operand.kind) {
    case Operand::Kind::None:
      return {};
    case Operand::Kind::Register: {
      return made_at(operand.tensor, frame);
    }
    case Operand::Kind::Parameter: {
      const Tensor* tensor = at(places_, operand, frame).tensor;
      if (tensor == nullptr) throw BadInput("tape: no parameter '" + operand.path + "'");
      return *tensor;
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
      return type();
    case Operand::Kind::AutocastType:
      return context_.autocast.state().value_or(type());
    case Operand::Kind::List:
      break;
  }
  std::vector<aten::Value> list;
  list.reserve(operand.list.size());
  for (const Operand& each : operand.list) list.push_back(value_of(each, frame));
  return list;
}

const Linear* TapedLm::linear_of(const Instruction& instruction, const Frame& frame) const {
  return instruction.is_linear ? at(places_, instruction.args[1], frame).linear : nullptr;
}

void TapedLm::execute(const Instruction& instruction, Frame& frame) const {
  if (instruction.op == nullptr) {
    throw BadInput(tape_.model_type + ": torch's " + instruction.name +
                   " is not predicted yet; vramfit model runs it");
  }
  // A model made from its config has a head of its own until it is tied, which leaves a free
  // segment behind. One to generate with comes from a file, and never has it.
  const bool is_left_out = instruction.makes_tied && !settings_.training;
  const Setting meta(context_.meta, context_.meta || is_left_out);
  aten::Results results;
  if (hooks_ != nullptr && instruction.begins_embedding) hooks_->before_embedding();
  if (const Linear* linear = linear_of(instruction, frame)) {
    if (linear->lora && tape_.gives_tuple(instruction.args[1].path)) {
      throw BadInput("lora-targets: of " + tape_.model_type + " PEFT raises for " +
                     instruction.args[1].path + ", whose module gives more than a tensor");
    }
    results.push_back((*linear)(made_at(instruction.args[0].tensor, frame)));
    const bool is_head = frame.index == kNoLayer;  // no tape has another linear beside its layers
    if (hooks_ != nullptr && is_head) hooks_->after_head(results.front());
  } else {
    std::vector<aten::Value> args = std::exchange(args_, {});
    for (const Operand& each : instruction.args) args.push_back(value_of(each, frame));
    try {
      results = instruction.op(aten::Call(context_, args));
    } catch (const BadInput& refusal) {
      throw BadInput(tape_.model_type + ": torch's " + instruction.name + ": " + refusal.what());
    }
    args.clear();
    args_ = std::move(args);
  }
  const auto result = [&](std::size_t i) -> Tensor& {
    if (i < results.size()) return results[i];
    throw BadInput(tape_.model_type + ": torch's " + instruction.name + " has not so many results");
  };
  if (hooks_ != nullptr && instruction.ends_embedding) hooks_->after_embedding(result(0));
  // enable_input_require_grads, which PEFT needs under checkpointing.
  if (lora_ && settings_.checkpoint != GradientCheckpointing::None && instruction.ends_embedding) {
    result(0).impl()->requires_grad = true;
  }
  for (std::size_t i = 0; i < instruction.results.size(); ++i) {
    if (instruction.results[i].scope == Register::Scope::None) continue;
    const Register& place = instruction.results[i];
    at(place, frame) = std::move(result(i));
    const bool for_others = frame.others != nullptr && place.scope == Register::Scope::Program;
    if (for_others) frame.others->made(place.number);
  }
}

/// Of `name`, what generate() passes.
Tensor TapedLm::input(const std::string& name, const Frame& frame) const {
  if (frame.step != nullptr && name == "attention_mask") return frame.step->attention_mask;
  if (frame.step != nullptr && name == "position_ids") return frame.step->positions;
  throw BadInput(tape_.model_type + ": its tape is given '" + name + "', which nothing makes");
}

/// What the layer finds of what was kept, as so many tokens would have left it.
void TapedLm::resize_state(const Instruction& instruction, Frame& frame) const {
  Tensor& state = made_at(instruction.args[0].tensor, frame);
  Dims sizes;
  for (const Operand& each : instruction.args[1].list) {
    sizes.push_back(each.size.value(frame.sizes));
  }
  state = resized(state, sizes);
}

void TapedLm::run(const Program& program, std::span<const Instruction> steps, Frame& frame) const {
  std::optional<AutocastScope> off;
  std::optional<Setting<bool>> no_grad;
  for (const Instruction& each : steps) {
    switch (each.kind) {
      case Instruction::Kind::Op:
        execute(each, frame);
        break;
      case Instruction::Kind::Free:
        for (const Operand& operand : each.args) at(operand.tensor, frame).reset();
        break;
      case Instruction::Kind::Parameter: {
        Tensor made = made_at(each.args[0].tensor, frame).detach();
        made.impl()->requires_grad = is_floating(made.type());
        at(each.results[0], frame) = std::move(made);
        break;
      }
      case Instruction::Kind::Bind:
        if (frame.bound == nullptr) throw BadInput("tape: a parameter beside init");
        if (Storage& memory = *made_at(each.args[0].tensor, frame).impl()->storage; memory.origin) {
          if (memory.category != Category::Parameters) memory.relabel(Category::Parameters);
        }
        at(*frame.bound, each.args[1], frame) = std::move(at(each.args[0].tensor, frame));
        break;
      case Instruction::Kind::Layers:
        run_layers(program, each, frame);
        break;
      case Instruction::Kind::Repeat:
        repeat(program, each, frame);
        break;
      case Instruction::Kind::Gradient:
        note_gradient(program, each, frame);
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
      case Instruction::Kind::Grad:
        if (each.args[0].flag) {
          no_grad.reset();
        } else {
          no_grad.emplace(context_.grad_enabled, false);
        }
        break;
      case Instruction::Kind::Input:
        at(each.results[0], frame) = input(each.name, frame);
        break;
      case Instruction::Kind::State:
        resize_state(each, frame);
        break;
      case Instruction::Kind::Keep: {
        const Tensor& kept = made_at(each.args[1].tensor, frame);
        kept.impl()->storage->relabel(Category::KvCache);
        at(each.args[0].tensor, frame) = kept;
        break;
      }
      case Instruction::Kind::Given:
      case Instruction::Kind::Passed:
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
  Registers& own = frame.index == kNoLayer ? frame.program : frame.layer;
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
  const auto step = static_cast<std::ptrdiff_t>(stride);
  const auto made = own.begin() + static_cast<std::ptrdiff_t>(first);
  for (std::int64_t i = 0; i < rounds; ++i) {
    run(program, loop.body, frame);
    std::move(made, made + step, made - step);
  }
}

/// Follows torch/csrc/autograd/python_function.cpp: what forward() keeps is saved behind it, and
/// backward() runs as other ops do, without a graph.
void TapedLm::note_gradient(const Program& program, const Instruction& own,
                            const Frame& frame) const {
  const auto tensors = [&](std::size_t i) {
    std::vector<Tensor> all;
    for (const Operand& each : own.args[i].list) all.push_back(made_at(each.tensor, frame));
    return all;
  };
  const auto make_backward = [&] {
    std::vector<Saved> saved;
    for (const Tensor& each : tensors(3)) saved.emplace_back(each);
    return [this, &program, &own, saved = std::move(saved), sizes = frame.sizes,
            index = frame.index, of_program = frame.program.size(),
            of_layer = frame.layer.size()](Node&, Gradients& grads) -> Gradients {
      Registers shared(of_program);
      Registers layer(of_layer);
      Registers none;
      Frame inner{shared, layer, none, index, sizes, nullptr};
      for (std::size_t i = 0; i < saved.size(); ++i) {
        at(own.args[3].list[i].tensor, inner) = saved[i].unpack();
      }
      at(own.args[1].tensor, inner) = grads[0];
      run(program, own.body, inner);
      Gradients given;
      const std::vector<Operand>& gives = own.args.back().list;
      for (std::size_t i = 0; i < gives.size(); ++i) {
        if (gives[i].kind == Operand::Kind::None) continue;
        given[i] = made_at(gives[i].tensor, inner);
      }
      return given;
    };
  };
  set_history(made_at(own.args[0].tensor, frame),
              make_node_of(context_, make_backward, tensors(2)));
}

}  // namespace vramfit::pytorch
