#include "runtimes/pytorch/transformers/generate.h"

#include <algorithm>
#include <memory>

#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

Tensor longs(Context& context, const Dims& sizes) {
  return empty(context, sizes, ScalarType::Long, Category::Inputs);
}

/// The state of _sample's loop.
class Sampler {
 public:
  Sampler(Context& context, const CausalLm& model, const Tensor& prompt,
          const Generation& generation)
      : context_(context),
        model_(model),
        batch_(prompt.size(0)),
        padded_(generation.padded),
        // _prepare_cache_for_generation: what the last token makes is not cached.
        cache_(
            model.make_cache(generation.static_cache, prompt.size(1) + generation.new_tokens - 1)),
        ids_(prompt) {
    for (int i = 0; i < model.special_tokens(); ++i) special_tokens_.push_back(longs(context, {}));
    // _prepare_attention_mask_for_generation, _prepare_position_ids_for_generation: what generate()
    // made stays until it returns, whatever the loop makes of it.
    prompt_mask_ = mask_ = from_padding(prompt.sizes());
    Tensor sums;
    if (model.takes_position_ids()) {
      sums = longs(context, prompt.sizes());
      sums = longs(context, prompt.sizes());                            // - 1
      prompt_positions_ = positions_ = longs(context, prompt.sizes());  // masked_fill
    }
    unfinished_ = longs(context, {batch_});
    if (batch_ > 1) has_right_padding_ = empty(context, {}, ScalarType::Bool, Category::Inputs);
  }

  /// As if so many tokens had been generated.
  void skip(std::int64_t tokens) {
    cache_->advance(tokens);
    extend(mask_, tokens);
    extend(positions_, tokens);
  }

  /// One forward and the token that follows from it.
  void step(std::int64_t tokens) {
    Tensor logits;
    {
      const Tensor ids = longs(context_, {batch_, tokens});  // input_ids.clone()
      const bool all = !positions_.defined() || tokens == positions_.size(1);
      const Tensor positions = all ? positions_ : longs(context_, {batch_, tokens});
      logits = model_.forward(ids, {mask_, positions, padded_, cache_.get()});
    }
    extend(mask_, 1);
    extend(positions_, 1);
    next_logits_ = empty(context_, {batch_, logits.size(-1)}, ScalarType::Float);
    next_tokens_ = longs(context_, {batch_});  // argmax
    ids_ = longs(context_, {batch_, ids_.size(1) + 1});
  }

 private:
  /// inputs.ne(pad).long(), or ones where there is nothing to hide.
  Tensor from_padding(const Dims& sizes) {
    const Tensor ones = longs(context_, sizes);
    const Tensor kept = longs(context_, sizes);
    const Tensor inferred = longs(context_, sizes);
    const Tensor defaults = longs(context_, sizes);
    return longs(context_, sizes);
  }

  /// torch.cat with a column for the next token.
  void extend(Tensor& tensor, std::int64_t tokens) {
    if (!tensor.defined()) return;
    const Tensor column = longs(context_, {batch_, 1});
    tensor = longs(context_, {batch_, tensor.size(1) + tokens});
  }

  Context& context_;
  const CausalLm& model_;
  std::int64_t batch_;
  bool padded_;
  std::unique_ptr<GenerationCache> cache_;
  std::vector<Tensor> special_tokens_;
  Tensor ids_;
  Tensor prompt_mask_;
  Tensor prompt_positions_;
  Tensor mask_;
  Tensor positions_;
  Tensor unfinished_;
  Tensor has_right_padding_;  ///< the answer to a check that batches get
  // Until the next ones take their place:
  Tensor next_logits_;  ///< fp32
  Tensor next_tokens_;
};

}  // namespace

void generate(Context& context, Playback& playback, const CausalLm& model, const Tensor& prompt,
              const Generation& generation) {
  const Setting no_grad(context.grad_enabled, false);
  Tape& tape = context.tape;
  const auto play = [&] { playback.play(playback.ready(tape.take()), 1); };
  tape.begin_stage(Stage::Prefill);
  if (generation.again) context.cublas.use_again(context);
  Sampler sampler(context, model, prompt, generation);
  sampler.step(prompt.size(1));
  tape.end_stage();
  play();
  if (generation.new_tokens < 2) return;
  tape.begin_stage(Stage::Decode);
  const std::int64_t decodes = generation.new_tokens - 1;
  const std::int64_t steps = std::min(decodes, generation.samples);
  for (std::int64_t step = 0, done = 0; step < steps; ++step) {
    const std::int64_t until = decodes * (step + 1) / steps;
    if (until - done > 1) sampler.skip(until - done - 1);
    sampler.step(1);
    done = until;
    play();
  }
  tape.end_stage();
  play();
}

}  // namespace vramfit::pytorch
