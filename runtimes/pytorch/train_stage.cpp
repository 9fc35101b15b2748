#include "runtimes/pytorch/train_stage.h"

#include "runtimes/pytorch/torch/distributed/pipelining.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/transformers/modules/families/families.h"
#include "runtimes/pytorch/transformers/modules/loss.h"
#include "runtimes/pytorch/transformers/modules/written_lm.h"

namespace vramfit::pytorch {

ModelSettings settings_of(const TorchTraining& options) {
  ModelSettings settings;
  settings.type = scalar_type(options.precision);
  settings.attention = options.attention;
  settings.training = true;
  settings.checkpoint = options.checkpoint;
  settings.fused_head = options.fused_head;
  const auto& distributed = options.distributed;
  if (distributed && distributed->mixed_precision) {
    settings.type = distributed->mixed_precision->param;
  }
  return settings;
}

// Steps are walked: what one leaves on the last stage is given back by the next.
void train_stage(Context& context, Playback& playback, const Ledger& ledger,
                 const ModelConfig& part, const TorchTraining& options, const Extent& extent) {
  Tape& tape = context.tape;
  const Distributed& spread = *options.distributed;
  const PipelinePlace place{spread.schedule, spread.stage, spread.gpus, options.accumulate};
  ModelSettings settings = settings_of(options);
  settings.first = place.is_first();
  settings.last = place.is_last();

  tape.begin_stage(Stage::Loaded);
  context.libraries.use_kernels();
  context.libraries.init_process_group();
  WrittenLm model(context, family_of(part), part, settings);
  tape.end_stage();
  const auto optimizer = make_optimizer(options.optimizer, model.trainable());
  const Tensor batch = empty(context, {options.batch * options.accumulate, options.seq},
                             ScalarType::Long, Category::Inputs);
  const Tensor ids = slice(batch, 0, options.batch);  // chunks are views
  PipelineStage stage(
      context, place, [&](const Tensor& x) { return model.forward_part(x); },
      [&](const Tensor& logits) { return causal_lm_loss(logits, ids); });
  const auto play = [&](int step) { playback.play(playback.ready(tape.take()), step); };
  play(0);
  const std::vector<PipelinePass> passes =
      passes_of(place.schedule, place.stage, place.stages, place.micro_batches);
  for (int step = 1; step <= extent.steps; ++step) {
    for (const PipelinePass& pass : passes) {
      const bool is_forward = pass.kind == PipelinePass::Kind::Forward;
      tape.begin_stage(is_forward ? Stage::Forward : Stage::Backward);
      if (&pass == &passes.front()) {
        stage.begin_step(ids, {options.batch, options.seq, part.hidden}, settings.type);
      }
      is_forward ? stage.forward(pass.micro_batch, ids) : stage.backward(pass.micro_batch);
      if (&pass == &passes.back()) stage.end_step();
      tape.end_stage();
    }
    tape.begin_stage(Stage::Optimizer);
    optimizer->step();
    tape.end_stage();
    tape.begin_stage(Stage::ZeroGrad);
    optimizer->zero_grad();
    tape.end_stage();
    play(step);
    if (extent.stop_when && extent.stop_when(ledger)) break;
  }
}

}  // namespace vramfit::pytorch
