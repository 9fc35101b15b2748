// How a TapedLm runs its layers, one after another or recomputed.
#include <algorithm>
#include <memory>
#include <span>

#include "model/errors.h"
#include "runtimes/pytorch/torch/autograd/reentrant_checkpoint.h"
#include "runtimes/pytorch/torch/tensor/checkpoint.h"
#include "runtimes/pytorch/transformers/taped/handed.h"
#include "runtimes/pytorch/transformers/taped/taped_lm.h"

namespace vramfit::pytorch {
namespace {

/// Of a program's registers these, each in its place.
std::vector<Tensor> only(const std::vector<std::uint32_t>& numbers,
                         const std::vector<Tensor>& program) {
  std::vector<Tensor> some(program.size());
  for (const std::uint32_t number : numbers) some.at(number) = program.at(number);
  return some;
}

/// Whether a program still has it when its layers have run: they drop what it hands on otherwise.
bool is_named_behind(const Body& main, const Instruction& layers, const Register& place) {
  const auto first = static_cast<std::size_t>(&layers - main.steps.data()) + 1;
  bool named = false;
  each_register(std::span(main.steps).subspan(first), [&](const Register& other) {
    named = named || (other.scope == place.scope && other.number == place.number);
  });
  return named;
}

/// What a layer hands on first.
Tensor& hidden_of(std::vector<Tensor>& carried) {
  if (carried.empty() || !carried.front().defined()) {
    throw BadInput("tape: a layer hands no hidden states on");
  }
  return carried.front();
}

}  // namespace

const Body& TapedLm::layer_of(const Program& program, std::int64_t layer) const {
  const auto found = program.layers.find(kind_of(layer));
  if (found != program.layers.end()) return found->second;
  throw BadInput("tape: a program without layer '" + kind_of(layer) + "'");
}

void TapedLm::run_layer(const Program& program, std::int64_t layer, Frame& frame) const {
  const Body& body = layer_of(program, layer);
  Registers own(body.of_layer);
  frame.carried.resize(std::max(frame.carried.size(), body.carried));
  Frame inner{frame.program, own,         frame.carried, static_cast<int>(layer),
              frame.sizes,   frame.bound, frame.step,    nullptr};
  inner.others = frame.others;
  if (frame.step != nullptr) {
    auto& cache = static_cast<Cache&>(*frame.step->cache);
    inner.state = &cache.layers.at(static_cast<std::size_t>(layer));
  }
  const bool hooked = hooks_ != nullptr && !frame.carried.empty();
  const auto index = static_cast<std::size_t>(layer);
  if (hooked) frame.carried.front() = hooks_->before_layer(index, hidden_of(frame.carried));
  run(program, body.steps, inner);
  if (hooked) hooks_->after_layer(index, hidden_of(frame.carried));
}

void TapedLm::run_layers(const Program& program, const Instruction& layers, Frame& frame) const {
  Registers carried;
  for (const Operand& operand : layers.args) {
    Tensor& handed = at(operand.tensor, frame);
    carried.push_back(is_named_behind(program.main, layers, operand.tensor) ? handed
                                                                            : std::move(handed));
  }
  Frame inner{frame.program, frame.layer, carried, kNoLayer, frame.sizes, frame.bound, frame.step};
  const bool checkpoints = !carried.empty() && settings_.checkpoint != GradientCheckpointing::None;
  const auto kept = std::make_shared<Registers>(frame.program.size());  // by layers for later ones
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    const LayerScope acts(context_, static_cast<int>(i));
    if (!checkpoints) {
      run_layer(program, i, inner);
      continue;
    }
    // What a layer hands on beside hidden states stays until the next one does. Recomputed it is
    // for nobody, but that a reentrant checkpoint has it until its backward is through.
    const auto beside = std::make_shared<Registers>();
    const auto again = std::make_shared<Registers>();
    const bool keeps = settings_.checkpoint == GradientCheckpointing::Reentrant;
    // What recomputing the layer needs again: `passed` is saved, and goes as its input does.
    const Body& layer = layer_of(program, i);
    const auto passed = std::make_shared<Registers>(only(layer.passed, frame.program));
    Registers shared = only(layer.shared, frame.program);
    for (const std::uint32_t number : layer.passed) shared.at(number).reset();
    const auto forward = [this, &program, i, sizes = frame.sizes, beside = std::weak_ptr(beside),
                          passed, &layer, shared = std::move(shared), kept, again,
                          keeps](const Tensor& input) {
      Registers all = shared;
      for (const std::uint32_t number : layer.passed) all.at(number) = passed->at(number);
      Handed others(*kept, all, layer);
      Registers none;
      Registers handed{input};
      Frame own{all, none, handed, kNoLayer, sizes, nullptr};
      own.others = &others;
      run_layer(program, i, own);
      Tensor output = std::move(hidden_of(handed));
      if (const auto next = beside.lock()) {
        *next = std::move(handed);
      } else if (keeps) {
        *again = std::move(handed);
      }
      return output;
    };
    const Tensor hidden = std::move(hidden_of(carried));
    Tensor output = settings_.checkpoint == GradientCheckpointing::Full
                        ? checkpoint(context_, forward, hidden)
                        : reentrant_checkpoint(context_, forward, hidden, [passed, again] {
                            passed->clear();
                            again->clear();
                          });
    carried = std::move(*beside);
    carried.front() = std::move(output);
  }
  for (std::size_t i = 0; i < kept->size(); ++i) {
    if (kept->at(i).defined()) frame.program.at(i) = kept->at(i);
  }
  if (hooks_ != nullptr && !carried.empty()) {
    carried.front() = hooks_->before_head(hidden_of(carried));
  }
  carried.resize(std::max(carried.size(), layers.results.size()));
  for (std::size_t i = 0; i < layers.results.size(); ++i) {
    if (layers.results[i].scope == Register::Scope::None) continue;
    at(layers.results[i], frame) = std::move(carried[i]);
  }
}

}  // namespace vramfit::pytorch
