#include "model/transformer/generation.h"

#include <stdexcept>
#include <utility>

#include "model/config/families.h"
#include "model/transformer/block.h"
#include "model/transformer/embedding.h"
#include "model/transformer/head.h"
#include "model/transformer/sizes.h"

namespace vramfit {

void validate(const ModelConfig& config, const GenerationOptions& options) {
  require_own_family(config);
  require_sizes(options.batch, options.seq);
  require_size("generate", options.generate, kMaxSeq);
  require_positions(config, options.positions());
  require_linears(config, options.precision, options.quantize_head);
}

Generator::Generator(Device& device, Ledger& ledger, const ModelConfig& config,
                     const GenerationOptions& options, const ParameterSource& source)
    : options_(
          (validate(config, options), require_arch(options.precision, device.arch()), options)),
      loading_(std::in_place, ledger, Stage::Loaded, 0),
      context_(device, ledger, options.precision.precisions(options.quantize_head)),
      model_(context_, config, source),
      prompt_(context_.tokens("prompt", {options.batch, options.seq})),
      next_(context_.tokens("next_tokens", {options.batch, 1})) {
  loading_.reset();
}

void Generator::prefill(const PromptLoader& load, const LogitsReader& read) {
  load(context_.device, prompt_);
  const StageScope stage(context_.ledger, Stage::Prefill, 1);
  cache_.emplace(context_, model_.config, options_.batch, options_.positions());
  run(prompt_, options_.seq, read);
}

void Generator::decode(const LogitsReader& read) {
  if (!cache_ || cache_->length >= options_.positions()) {
    throw std::logic_error("decode: the cache has no room for another token");
  }
  const StageScope stage(context_.ledger, Stage::Decode, 1);
  run(next_, 1, read);
}

void Generator::rewind(std::int64_t positions) {
  if (!cache_ || positions < 0 || positions > cache_->length) {
    throw std::logic_error("rewind: the cache holds fewer positions");
  }
  cache_->length = positions;
}

void Generator::run(const Tensor& tokens, std::int64_t seq, const LogitsReader& read) {
  const Sequence sequence{options_.attention, options_.batch, seq, &*cache_};
  Tensor x = embed(model_, tokens, cache_->length);
  for (int layer = 0; layer < model_.config.layers; ++layer) {
    x = block_forward(model_, layer, sequence, std::move(x), nullptr);
  }
  const Tensor logits = last_logits(model_, std::move(x), options_.batch, seq);
  if (read) read(context_.device, logits);
  context_.device.run(Argmax{logits, model_.config.vocab, next_});
  cache_->length += seq;
}

}  // namespace vramfit
