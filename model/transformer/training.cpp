#include "model/transformer/training.h"

#include <array>
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
  } else if (options.precision.quantized()) {
    throw BadInput(std::string("precision: ") + options.precision.name +
                   " weights are not trained; --lora 16 trains adapters beside them");
  }
  require_linears(config, options.precision, false);
  require_positions(config, options.seq);
  validate(options.mesh);
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
  Precisions precisions = options.precision.precisions(false);
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
                 const TrainingOptions& options)
    : options_(
          (validate(config, options), require_arch(options.precision, device.arch()), options)),
      loading_(std::in_place, ledger, Stage::Loaded, 0),
      context_(device, ledger, precisions_of(options)),
      model_(context_, config, draw_parameter, options.lora, options.mesh),
      ranks_(model_, options.mesh),
      optimizer_(options.optimizer, options.settings),
      tokens_(context_.tokens("tokens", {options.batch, options.seq})),
      targets_(context_.tokens("targets", {options.batch, options.seq})),
      loss_(context_.scratch("loss", {1})),
      kept_(static_cast<std::size_t>(config.layers)) {
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

void Trainer::forward_and_backward(const BatchLoader& load) {
  ++step_;
  context_.device.run(FillNormal{loss_, 0.0F, 0.0F, 0});
  const Sequence sequence{options_.attention, options_.batch, options_.seq};
  for (std::int64_t micro_batch = 0; micro_batch < options_.accumulate; ++micro_batch) {
    load(context_.device, tokens_, targets_);
    Tensor hidden;
    {
      const StageScope stage(context_.ledger, Stage::Forward, step_);
      hidden = forward(sequence);
    }
    const StageScope stage(context_.ledger, Stage::Backward, step_);
    backward(sequence, std::move(hidden), micro_batch + 1 == options_.accumulate);
  }
}

void Trainer::update() {
  {
    const StageScope stage(context_.ledger, Stage::Optimizer, step_);
    ranks_.await_sums();
    optimizer_.step(context_, model_.weights, options_.mesh, scaler_ ? &scaler_ : nullptr, step_);
    ranks_.parameters_updated();
  }
  const StageScope stage(context_.ledger, Stage::ZeroGrad, step_);
  model_.weights.free_gradients();
}

Tensor Trainer::forward(const Sequence& sequence) {
  ranks_.forward_enters(Units::kEmbeddings);
  Tensor x = embed(model_, tokens_, nullptr);
  for (int layer = 0; layer < model_.config.layers; ++layer) {
    ranks_.forward_enters(Units::of_block(layer));
    x = block_forward(model_, layer, sequence, std::move(x),
                      &kept_[static_cast<std::size_t>(layer)]);
    forget(kept_[static_cast<std::size_t>(layer)], options_.checkpointing.of(layer));
  }
  last_x_ = std::move(x);
  ranks_.forward_enters(ranks_.units().head());
  return normalize(model_, final_norm(), "final_norm", last_x_, &final_statistics_);
}

void Trainer::backward(const Sequence& sequence, Tensor hidden, bool last_micro_batch) {
  const std::int64_t targets = checked_multiply(
      checked_multiply(sequence.tokens(), options_.accumulate), options_.mesh.ranks);
  ranks_.backward_enters_head();
  head_loss(model_, hidden, targets_, 1.0F / static_cast<float>(targets),
            scaler_ ? &scaler_ : nullptr, loss_);
  Tensor dx = context_.activation("dx", last_x_.shape());
  normalize_backward(model_, final_norm(), std::move(last_x_), std::move(final_statistics_), hidden,
                     dx, false);
  hidden.release();
  ranks_.backward_leaves_head(last_micro_batch);
  for (int layer = static_cast<int>(model_.config.layers) - 1; layer >= 0; --layer) {
    ranks_.backward_enters_block(layer);
    BlockKept kept = std::move(kept_[static_cast<std::size_t>(layer)]);
    recompute(model_, layer, sequence, kept);
    block_backward(model_, layer, sequence, std::move(kept), dx,
                   [&] { ranks_.backward_passes_mlp(layer, last_micro_batch); });
    ranks_.backward_leaves_block(layer, last_micro_batch);
  }
  ranks_.backward_enters_embeddings();
  embed_backward(model_, tokens_, dx);
  ranks_.backward_ends(last_micro_batch, loss_);
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
