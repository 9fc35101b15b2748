#include "runtimes/vramfit/step_tape.h"

#include <algorithm>
#include <stdexcept>

#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

/// Parameters of one layer that are trained.
std::int64_t trained_in_layer(const ModelConfig& config, const TrainingOptions& options) {
  const Adapters adapters(config, options.lora);
  const auto specs = adapters.none() ? parameter_specs(config) : adapters.parameters(config);
  return std::count_if(specs.begin(), specs.end(),
                       [](const ParameterSpec& spec) { return spec.layer == 0; });
}

}  // namespace

// Forward begins in the first layer, backward in the last; with adapters the first keeps less of
// what the second frees.
pytorch::Fold StepTape::fold_of(const ModelConfig& config, const TrainingOptions& options) {
  if (!options.mesh.alone() || options.optimizer.on_host) return pytorch::Fold::none(config);
  return pytorch::Fold::of(config, {0, config.layers}, options.lora ? 2 : 1,
                           options.checkpointing.every);
}

StepTape::StepTape(Ledger& asked, const pytorch::Fold& fold, const ModelConfig& walked,
                   const TrainingOptions& options)
    : asked_(asked),
      tape_(fold.layers()),
      more_in_table_(
          static_cast<std::uint64_t>(fold.left_out() * trained_in_layer(walked, options)) *
          kOptimizerTableEntry) {
  asked.set_observer(this);
}

pytorch::Recording StepTape::take() {
  if (!closed_) throw std::logic_error("a step frees what was there before it");
  pytorch::Recording recording = tape_.take();
  for (; taken_ < requests_.size(); ++taken_) {
    const Request& request = requests_[taken_];
    if (!request.freed) recording.acts[request.act].kind = pytorch::Act::Kind::AllocateToStay;
  }
  return recording;
}

// What is outside the layers' loops names no layer.
void StepTape::stage_begins(Stage stage, int) {
  tape_.layer = pytorch::kNoLayer;
  tape_.begin_stage(stage);
}

void StepTape::stage_ends(const StageRecord&) {
  tape_.layer = pytorch::kNoLayer;
  tape_.end_stage();
}

// A layer begins with the first tensor that is named after it, but for its input, which the one
// before it writes; what has no layer's name, and what is freed, goes with it.
void StepTape::allocated(const Name& name, Category category, std::uint64_t bytes, const Block&) {
  if (name.layer() >= 0 && name != Name("x", name.layer())) tape_.layer = name.layer();
  if (name == kOptimizerTable) bytes += more_in_table_;
  const auto origin = tape_.allocate(category, bytes, name);
  requests_.push_back({origin, category, bytes, tape_.acts() - 1, false});
}

void StepTape::freed(const Block& block) noexcept {
  Request& request = requests_[block.handle];
  closed_ &= block.handle >= taken_;
  request.freed = true;
  tape_.free(request.origin, request.category, request.bytes);
}

}  // namespace vramfit
