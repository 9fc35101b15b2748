#include "model/transformer/training.h"

#include <array>
#include <stdexcept>
#include <utility>

#include "model/checked.h"
#include "model/config/families.h"
#include "model/config/limits.h"
#include "model/errors.h"
#include "model/transformer/embedding.h"
#include "model/transformer/head.h"
#include "model/transformer/norm.h"
#include "model/transformer/sizes.h"

namespace vramfit {
namespace {

/// Codes of a micro-batch are multiplied along its tokens as well.
void require_code_rows(const TrainingOptions& options) {
  if (!options.precision.quantized()) return;
  const std::int64_t multiple = options.precision.inputs.row().multiple();
  const std::int64_t tokens = checked_multiply(options.batch, options.seq);
  if (tokens % multiple == 0) return;
  throw BadInput(std::string("precision: ") + options.precision.name + " trains micro-batches of " +
                 std::to_string(multiple) + ", " + std::to_string(2 * multiple) + ", … tokens; " +
                 std::to_string(options.batch) + " x " + std::to_string(options.seq) + " are " +
                 std::to_string(tokens) + ": bf16, or another --seq");
}

}  // namespace

void validate(const ModelConfig& config, const TrainingOptions& options) {
  require_own_family(config);
  require_sizes(options.batch, options.seq);
  require_size("accumulate", options.accumulate, kMaxAccumulate);
  require_size("checkpoint-every", options.checkpointing.every, kMaxLayers);
  if (options.checkpointing.every > 1 && options.checkpointing.kind == Checkpoint::None) {
    throw BadInput("checkpoint-every: only with --checkpoint selective or full");
  }
  require_precision(options.optimizer, options.precision.activations);
  if (options.lora) {
    require_lora(config.family, options.lora->rank, options.lora->targets, lora_targets(config));
  } else if (!options.precision.trains()) {
    throw BadInput(std::string("precision: ") + options.precision.name +
                   " weights are not trained; --lora 16 trains adapters beside them, or fp8");
  } else {
    require_code_rows(options);
  }
  require_linears(config, options.precision, false);
  require_positions(config, options.seq);
  validate(options.mesh);
  if (options.mesh.pipelined() && options.mesh.ranks > config.layers) {
    throw BadInput("gpus: " + std::to_string(options.mesh.ranks) +
                   " of a pipeline need as many blocks; " + config.name + " has " +
                   std::to_string(config.layers));
  }
  if (!options.mesh.alone() && options.optimizer.on_host) {
    throw BadInput(std::string("optimizer: ") + options.optimizer.name +
                   " is of one GPU, which has the host's memory to itself; adamw, or adamw-8bit");
  }
  if (options.mesh.shards_states() && options.optimizer.stored == OptimizerKind::Stored::Factors) {
    throw BadInput(std::string("optimizer: ") + options.optimizer.name +
                   " needs the means of whole matrices, which --strategy " +
                   name(options.mesh.strategy) + " cuts; ddp, or adamw-8bit");
  }
}

Precisions precisions_of(const TrainingOptions& options) {
  Precisions precisions =
      options.lora ? options.precision.precisions(false) : options.precision.trained_precisions();
  precisions.optimizer_states = options.optimizer.moment_format(precisions.weights);
  return precisions;
}

BatchLoader random_batches(std::int64_t vocab, std::uint64_t seed) {
  return [vocab, seed](Device& device, Tensor& tokens, Tensor& targets) mutable {
    device.run(FillTokens{tokens, vocab, seed++});
    device.run(FillTokens{targets, vocab, seed++});
  };
}

Trainer::Trainer(Device& device, Ledger& ledger, const ModelConfig& config,
                 const TrainingOptions& options, const ParameterSource& source)
    : options_(
          (validate(config, options), require_arch(options.precision, device.arch()), options)),
      sequence_{options.attention, options.batch, options.seq},
      passes_(passes_of(options.mesh, options.accumulate)),
      loading_(std::in_place, ledger, Stage::Loaded, 0),
      context_(device, ledger, precisions_of(options)),
      model_(context_, config, source, options.lora, options.mesh),
      ranks_(model_, options.mesh),
      pipeline_(model_, options.mesh),
      optimizer_(options.optimizer, options.settings),
      in_flight_(micro_batches()),
      loss_(context_.scratch("loss", {1})) {
  if (options.precision == DType::Fp16) {
    scaler_ = context_.scratch("loss_scale", {LossScale::kValues});
    const std::array<float, LossScale::kValues> start = {LossScale::kInitial, 0.0F, 0.0F};
    device.upload(scaler_, start.data(), sizeof start);
  }
  loading_.reset();
}

void Trainer::step(const BatchLoader& load) {
  forward_and_backward(load);
  update();
}

std::vector<MicroBatch> Trainer::micro_batches() {
  std::vector<MicroBatch> list;
  for (std::int64_t i = 0; i < most_in_flight(options_.mesh, options_.accumulate); ++i) {
    const Shape shape = {options_.batch, options_.seq};
    list.push_back(
        {context_.tokens("tokens", shape), context_.tokens("targets", shape), {}, {}, {}});
    list.back().blocks.resize(static_cast<std::size_t>(model_.config.layers));
  }
  return list;
}

void Trainer::forward_and_backward(const BatchLoader& load) {
  ++step_;
  context_.device.run(FillNormal{loss_, 0.0F, 0.0F, 0});
  Tensor made;
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const Pass& pass = passes_[i];
    MicroBatch& micro_batch =
        in_flight_[static_cast<std::size_t>(pass.micro_batch) % in_flight_.size()];
    if (!pass.backward) load(context_.device, micro_batch.tokens, micro_batch.targets);
    const StageScope stage(context_.ledger, pass.backward ? Stage::Backward : Stage::Forward,
                           step_);
    made = pipeline_.exchange(i == 0 ? nullptr : &passes_[i - 1], std::move(made), &pass,
                              {sequence_.tokens(), model_.config.hidden});
    if (!pass.backward) {
      made = forward(micro_batch, std::move(made));
      continue;
    }
    made = backward(micro_batch, std::move(made), pass.micro_batch + 1 == options_.accumulate);
    if (i + 1 == passes_.size()) pipeline_.end(pass, std::exchange(made, Tensor()), loss_);
  }
}

void Trainer::update() {
  {
    const StageScope stage(context_.ledger, Stage::Optimizer, step_);
    optimizer_.create_states(context_, model_.weights);
    const Tensor* scaler = scaler_ ? &scaler_ : nullptr;
    for (const UpdatePart& part : ranks_.update_parts(scaler != nullptr)) {
      ranks_.update_enters(part);
      optimizer_.step(context_, model_.weights, part.parameters, options_.mesh, scaler, step_);
      ranks_.update_leaves(part);
    }
    ranks_.parameters_updated();
  }
  const StageScope stage(context_.ledger, Stage::ZeroGrad, step_);
  model_.weights.free_gradients();
}

Tensor Trainer::forward(MicroBatch& micro_batch, Tensor x) {
  const PipelineStage& stage = model_.stage;
  if (stage.embeds) {
    ranks_.forward_enters(Units::kEmbeddings);
    x = embed(model_, micro_batch.tokens, nullptr);
  }
  for (int layer = stage.first; layer < stage.end; ++layer) {
    ranks_.forward_enters(Units::of_block(layer));
    SavedActivations& saved = micro_batch.blocks[static_cast<std::size_t>(layer)];
    x = block_forward(model_, layer, sequence_, std::move(x), &saved);
    forget(saved, options_.checkpointing.of(layer));
  }
  if (!stage.has_head) return x;
  micro_batch.last_x = std::move(x);
  ranks_.forward_enters(ranks_.units().head());
  return normalize(model_, final_norm(), "final_norm", micro_batch.last_x,
                   &micro_batch.final_statistics);
}

Tensor Trainer::head_backward(MicroBatch& micro_batch, Tensor hidden) {
  const std::int64_t targets = checked_multiply(
      checked_multiply(sequence_.tokens(), options_.accumulate), options_.mesh.batches());
  head_loss(model_, hidden, micro_batch.targets, 1.0F / static_cast<float>(targets),
            scaler_ ? &scaler_ : nullptr, loss_);
  Tensor dx = context_.activation("dx", micro_batch.last_x.shape());
  normalize_backward(model_, final_norm(), std::move(micro_batch.last_x),
                     std::move(micro_batch.final_statistics), hidden, dx, false);
  return dx;
}

Tensor Trainer::backward(MicroBatch& micro_batch, Tensor made, bool last_micro_batch) {
  const PipelineStage& stage = model_.stage;
  Tensor dx = std::move(made);
  if (stage.has_head) {
    ranks_.backward_enters_head();
    dx = head_backward(micro_batch, std::move(dx));
    ranks_.backward_leaves_head(last_micro_batch);
  }
  for (int layer = stage.end - 1; layer >= stage.first; --layer) {
    ranks_.backward_enters_block(layer);
    SavedActivations saved = std::move(micro_batch.blocks[static_cast<std::size_t>(layer)]);
    recompute(model_, layer, sequence_, saved);
    block_backward(model_, layer, sequence_, std::move(saved), dx,
                   [&] { ranks_.backward_passes_mlp(layer, last_micro_batch); });
    ranks_.backward_leaves_block(layer, last_micro_batch);
  }
  if (!stage.embeds) return dx;
  ranks_.backward_enters_embeddings();
  embed_backward(model_, micro_batch.tokens, dx);
  ranks_.backward_ends(last_micro_batch, loss_);
  return {};
}

double Trainer::evaluate(const BatchLoader& load) {
  if (!options_.mesh.alone()) throw std::logic_error("evaluate: on one GPU alone");
  const StageScope stage(context_.ledger, Stage::Forward, step_);
  context_.device.run(FillNormal{loss_, 0.0F, 0.0F, 0});
  MicroBatch& batch = in_flight_.front();
  load(context_.device, batch.tokens, batch.targets);
  Tensor hidden = forward(batch, {});
  for (SavedActivations& saved : batch.blocks) saved = {};
  batch.last_x.release();
  batch.final_statistics = {};
  head_loss(model_, hidden, batch.targets, 1.0F / static_cast<float>(sequence_.tokens()), nullptr,
            loss_);
  model_.weights.free_gradients();
  return loss();
}

std::vector<const Tensor*> Trainer::state() const {
  std::vector<const Tensor*> all;
  for (const Parameter& p : model_.weights.all()) {
    all.push_back(&p.value);
    if (p.scales) all.push_back(&p.scales);
  }
  const std::vector<const Tensor*> kept = optimizer_.states();
  all.insert(all.end(), kept.begin(), kept.end());
  if (scaler_) all.push_back(&scaler_);
  return all;
}

void Trainer::go_on_after(int steps) {
  if (steps > 0) optimizer_.create_states(context_, model_.weights);
  step_ = steps;
}

double Trainer::loss() {
  if (loss_.format() == DType::Fp64) {
    double value = 0;
    context_.device.download(&value, loss_, sizeof value);
    return value;
  }
  float value = 0;
  context_.device.download(&value, loss_, sizeof value);
  return static_cast<double>(value);
}

}  // namespace vramfit
