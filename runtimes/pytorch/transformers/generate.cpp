#include "runtimes/pytorch/transformers/generate.h"

#include <algorithm>
#include <memory>

#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/reduction.h"
#include "runtimes/pytorch/torch/ops/scan.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

Tensor longs(Context& context, const Dims& sizes) {
  return empty(context, sizes, ScalarType::Long, Category::Inputs);
}

/// The state of _sample's loop. What its names stand for is made before what they stood for goes.
class Sampler {
 public:
  Sampler(Context& context, const CausalLm& model, const Tensor& prompt,
          const Generation& generation)
      : context_(context),
        model_(model),
        batch_(prompt.size(0)),
        padded_(generation.padded),
        ends_(model.special_tokens().ends),
        // _prepare_cache_for_generation: what the last token makes is not cached.
        cache_(
            model.make_cache(generation.static_cache, prompt.size(1) + generation.new_tokens - 1)),
        ids_(prompt) {
    prepare_special_tokens();
    if (batch_ > 1) has_right_padding_ = look_for_right_padding();
    // What generate() made stays until it returns, whatever the loop makes of it.
    prompt_mask_ = mask_ = attention_mask();
    if (model.takes_position_ids()) prompt_positions_ = positions_ = position_ids();
    unfinished_ = longs(context, {batch_});
  }

  /// As if so many tokens had been generated.
  void skip(std::int64_t tokens) {
    cache_->advance(tokens);
    extend(mask_, tokens);
    extend(positions_, tokens);
    extend(ids_, tokens);
  }

  /// The forward of the whole prompt and the token that follows from it: _prefill.
  void prefill() {
    Tensor logits;
    {
      const Tensor ids = longs(context_, ids_.sizes());  // input_ids.clone()
      logits = model_.forward(ids, {mask_, positions_, padded_, cache_.get()});
    }
    next_token(logits);
  }

  /// One of the last token.
  void decode() {
    inputs_ = prepare_inputs();
    const Tensor logits =
        model_.forward(inputs_.ids, {inputs_.mask, inputs_.positions, padded_, cache_.get()});
    next_token(logits);
  }

 private:
  /// What a forward is called with, which stays until the next one's is there.
  struct Inputs {
    Tensor ids;
    Tensor positions;
    Tensor mask;
  };

  Tensor bools(const Dims& sizes) const {
    return empty(context_, sizes, ScalarType::Bool, Category::Inputs);
  }
  static Tensor any_of(const Tensor& a) { return any(a, all_dims(a.rank()), false); }

  /// torch.isin(eos, pad).any()
  Tensor ends_with_padding() const {
    return any_of(isin(reshape(special_tokens_.front(), {1}), 1));
  }

  // _prepare_special_tokens
  void prepare_special_tokens() {
    for (int i = 0; i < model_.special_tokens().count; ++i) {
      special_tokens_.push_back(longs(context_, {}));
    }
    if (!ends_) return;
    ends_with_padding();
    const Tensor below_zero = bools({1});
    any_of(below_zero);
  }

  /// (ids[:, -1] == pad).sum() > 0
  Tensor look_for_right_padding() const {
    Tensor count;
    {
      const Tensor equal = bools({batch_});
      count = sum(equal, all_dims(1), false);
    }
    return bools({});
  }

  // _prepare_attention_mask_for_generation
  Tensor attention_mask() const {
    const Dims& sizes = ids_.sizes();
    const Tensor ones = longs(context_, sizes);
    const Tensor has_padding = any_of(isin(ids_, 1));
    Tensor differs;
    if (ends_) {
      const Tensor same = ends_with_padding();
      differs = bools({});
    }
    const Tensor can_infer = bools({});
    const Tensor inferred = to(bools(sizes), ScalarType::Long);  // inputs.ne(pad).long()
    const Tensor a = longs(context_, sizes);                     // inferred * can_infer
    Tensor b;
    {
      const Tensor cannot_infer = bools({});
      b = longs(context_, sizes);  // ones * cannot_infer
    }
    return longs(context_, sizes);
  }

  // _prepare_position_ids_for_generation: mask.cumsum(-1) - 1, and 0 where the mask is.
  Tensor position_ids() const {
    const Dims& sizes = mask_.sizes();
    Tensor less_one;
    {
      const Tensor sums = cumsum(mask_, 1, {});
      less_one = longs(context_, sizes);
    }
    const Tensor hidden = bools(sizes);
    return longs(context_, sizes);
  }

  // prepare_inputs_for_generation
  Inputs prepare_inputs() const {
    Inputs inputs;
    inputs.ids = longs(context_, {batch_, 1});  // input_ids[:, -1:].clone()
    if (positions_.defined()) inputs.positions = longs(context_, {batch_, 1});
    inputs.mask = mask_;
    return inputs;
  }

  /// torch.cat with columns for more tokens.
  void extend(Tensor& tensor, std::int64_t tokens) const {
    if (tensor.defined()) tensor = longs(context_, {batch_, tensor.size(1) + tokens});
  }

  // _update_model_kwargs_for_generation
  void update_inputs() {
    const Tensor before = positions_;
    if (positions_.defined()) {
      Tensor next;
      {
        const Tensor one = longs(context_, {1});  // torch.arange(1)
        next = longs(context_, {batch_, 1});      // + position_ids[..., -1:]
      }
      next = longs(context_, {batch_, 1});  // + 1
      extend(positions_, 1);
    }
    const Tensor one = longs(context_, {batch_, 1});
    extend(mask_, 1);
  }

  /// tokens * unfinished + pad * (1 - unfinished), where a text can end.
  Tensor or_padding(const Tensor& tokens) const {
    if (!ends_) return tokens;
    const Tensor kept = longs(context_, {batch_});
    Tensor padding;
    {
      const Tensor finished = longs(context_, {batch_});
      padding = longs(context_, {batch_});
    }
    return longs(context_, {batch_});
  }

  /// EosTokenCriteria: torch.isin(ids[:, -1:], eos).any(-1)
  Tensor ends_text() const { return any(isin(slice(ids_, 1, 1), 1), bit(1), false); }

  /// StoppingCriteriaList: too many tokens, or one that ends a text.
  Tensor is_done() const {
    Tensor done = bools({batch_});
    const auto add = [&](const Tensor& /*criterion*/) { done = bools({batch_}); };
    add(bools({batch_}));
    if (ends_) add(ends_text());
    return done;
  }

  void next_token(const Tensor& logits) {
    update_inputs();
    next_logits_ = empty(context_, {batch_, logits.size(-1)}, ScalarType::Float);
    next_tokens_ = argmax(next_logits_, 1, false);
    next_tokens_ = or_padding(next_tokens_);
    extend(ids_, 1);
    {
      const Tensor goes_on = not_of(is_done());
      unfinished_ = longs(context_, {batch_});
    }
    // StopCheck: unfinished.max() == 0
    const Tensor most = extreme(unfinished_);
    bools({});
  }
  Tensor not_of(const Tensor& a) const { return bools(a.sizes()); }

  Context& context_;
  const CausalLm& model_;
  std::int64_t batch_;
  bool padded_;
  bool ends_;  ///< some token ends a text
  std::unique_ptr<GenerationCache> cache_;
  std::vector<Tensor> special_tokens_;
  Tensor ids_;
  Tensor has_right_padding_;  ///< the answer to a check that batches get
  Tensor prompt_mask_;
  Tensor prompt_positions_;
  Tensor mask_;
  Tensor positions_;
  Tensor unfinished_;
  Inputs inputs_;
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
  sampler.prefill();
  tape.end_stage();
  play();
  if (generation.new_tokens < 2) return;
  tape.begin_stage(Stage::Decode);
  const std::int64_t decodes = generation.new_tokens - 1;
  const std::int64_t steps = std::min(decodes, generation.samples);
  for (std::int64_t step = 0, done = 0; step < steps; ++step) {
    const std::int64_t until = decodes * (step + 1) / steps;
    if (until - done > 1) sampler.skip(until - done - 1);
    sampler.decode();
    done = until;
    play();
  }
  tape.end_stage();
  play();
}

}  // namespace vramfit::pytorch
