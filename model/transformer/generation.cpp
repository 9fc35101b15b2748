#include "model/transformer/generation.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "model/config/families.h"
#include "model/errors.h"
#include "model/printable.h"
#include "model/quantity.h"
#include "model/transformer/block.h"
#include "model/transformer/embedding.h"
#include "model/transformer/head.h"
#include "model/transformer/sizes.h"

namespace vramfit {
namespace {

constexpr std::int64_t kLargestBlock = 4096;

/// Decode steps that the ledger shows: two, so that it also shows whether a further one takes more.
constexpr int kWrittenSteps = 2;

/// A power of two, so that a position's block and its place there are its bits.
void require_block(std::int64_t block) {
  const bool power = block >= 0 && block <= kLargestBlock && (block & (block - 1)) == 0;
  if (power) return;
  throw BadInput("block: is " + std::to_string(block) + "; a power of two from 1 to " +
                 std::to_string(kLargestBlock) + ", or none");
}

Precisions precisions_of(const GenerationOptions& options) {
  Precisions precisions = options.precision.precisions(options.quantize_head);
  if (options.cache) precisions.cache = *options.cache;
  return precisions;
}

}  // namespace

void validate(const ModelConfig& config, const GenerationOptions& options) {
  require_own_family(config);
  require_sizes(options.batch, options.seq);
  require_size("generate", options.generate, kMaxSeq);
  require_positions(config, options.positions());
  require_linears(config, options.precision, options.quantize_head);
  require_block(options.block);
  if (options.cache && !is_16_bit(options.precision.activations)) {
    throw BadInput(std::string("cache: ") + name(*options.cache) +
                   " goes with activations in 16 bits, not " + options.precision.name);
  }
  if (options.spread && options.seq < options.batch) {
    throw BadInput("lengths: spread over " + std::to_string(options.batch) + " prompts of up to " +
                   std::to_string(options.seq) + " tokens; a longer seq or fewer sequences");
  }
}

std::optional<DType> parse_cache(const std::string& text) {
  if (text == "unquantized") return std::nullopt;
  if (const auto format = Format::named(text); format && has_row_scales(*format)) {
    return format->element();
  }
  throw BadInput("cache: is '" + shortened(text, 40) + "'; unquantized, fp8 or int8");
}

std::int64_t parse_block(const std::string& text) {
  if (text == "none") return 0;
  const std::int64_t block = parse_whole("block", text, 1, kLargestBlock);
  require_block(block);
  return block;
}

bool parse_lengths(const std::string& text) {
  if (text == "equal" || text == "spread") return text == "spread";
  throw BadInput("lengths: is '" + shortened(text, 40) + "'; equal or spread");
}

std::vector<std::int64_t> prompt_lengths(const GenerationOptions& options) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t b = 1; b <= options.batch; ++b) {
    lengths.push_back(options.spread ? options.seq * b / options.batch : options.seq);
  }
  return lengths;
}

Generator::Generator(Device& device, Ledger& ledger, const ModelConfig& config,
                     const GenerationOptions& options, const ParameterSource& source)
    : options_(
          (validate(config, options), require_arch(options.precision, device.arch()), options)),
      loading_(std::in_place, ledger, Stage::Loaded, 0),
      context_(device, ledger, precisions_of(options)),
      model_(context_, config, source),
      prompt_(context_.tokens("prompt", {options.batch, options.seq})),
      next_(context_.tokens("next_tokens", {options.batch, 1})) {
  loading_.reset();
}

void Generator::prefill(const PromptLoader& load, const LogitsReader& read) {
  load(context_.device, prompt_);
  const StageScope stage(context_.ledger, Stage::Prefill, 1);
  cache_.emplace(context_, model_.config, prompt_lengths(options_), options_.positions(),
                 options_.block);
  run(prompt_, options_.seq, read);
  cache_->fill();
}

void Generator::decode(const LogitsReader& read) {
  if (!cache_ || cache_->room() == 0) {
    throw std::logic_error("decode: the cache has no room for another token");
  }
  cache_->count(1);
  if (context_.ledger.allocations() != allocations_) {
    recording_.reset();
    written_ = 0;
  }
  if (read || written_ < kWrittenSteps) {
    const StageScope stage(context_.ledger, Stage::Decode, 1);
    decode_step(read);
    allocations_ = context_.ledger.allocations();
    ++written_;
    return;
  }
  const UnrecordedScope again(context_.ledger);
  if (recording_) return recording_->run();
  recording_ = context_.device.record([this] { decode_step(nullptr); });
}

void Generator::decode_step(const LogitsReader& read) {
  run(next_, 1, read);
  cache_->advance(context_.device, 1);
}

void Generator::rewind(std::int64_t positions) {
  if (!cache_ || positions < 0) throw std::logic_error("rewind: there is nothing to forget");
  cache_->count(-positions);
  cache_->advance(context_.device, -positions);
}

void Generator::run(const Tensor& tokens, std::int64_t seq, const LogitsReader& read) {
  const Sequence sequence{options_.attention, options_.batch, seq, &*cache_};
  Tensor x = embed(model_, tokens, sequence.starts());
  for (int layer = 0; layer < model_.config.layers; ++layer) {
    x = block_forward(model_, layer, sequence, std::move(x), nullptr);
  }
  const Tensor logits = last_logits(model_, std::move(x), options_.batch, seq, sequence.counts());
  if (read) read(context_.device, logits);
  context_.device.run(Argmax{logits, model_.config.vocab, next_});
}

}  // namespace vramfit
