#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/transformer/attention.h"
#include "model/transformer/model_precision.h"

namespace vramfit {

struct GenerationOptions {
  ModelPrecision precision = DType::Bf16;
  bool quantize_head = false;
  AttentionForm attention = AttentionForm::Flash;
  std::int64_t batch = 1;
  std::int64_t seq = 2048;     ///< tokens of the prompt, of the longest where they differ
  std::int64_t generate = 1;   ///< new tokens; the first comes out of prefill
  std::optional<DType> cache;  ///< 8 bits that keys and values are stored in, where they are
  std::int64_t block = 0;      ///< positions of the cache's blocks; 0: one for a whole sequence
  bool spread = false;         ///< prompts of unequal lengths, see prompt_lengths

  /// The last new token is never fed back, so it takes no place in the cache.
  std::int64_t positions() const { return seq + generate - 1; }
};

/// "unquantized", "fp8" or "int8"; throws BadInput.
std::optional<DType> parse_cache(const std::string& text);
/// Positions of a block, or "none"; throws BadInput.
std::int64_t parse_block(const std::string& text);
/// Whether prompts are "spread" rather than "equal"; throws BadInput.
bool parse_lengths(const std::string& text);

/// Tokens of each sequence's prompt: `seq`, or where they are spread seq/B, 2·seq/B, …, seq.
std::vector<std::int64_t> prompt_lengths(const GenerationOptions& options);

/// Throws BadInput where the model cannot be run so.
void validate(const ModelConfig& config, const GenerationOptions& options);

/// Fills the prompts, (B, T) int32.
using PromptLoader = std::function<void(Device&, Tensor& tokens)>;

/// Reads logits, (B, stored V), before they are freed.
using LogitsReader = std::function<void(Device&, const Tensor& logits)>;

/// Greedy generation: the prompts in one pass, then a token a sequence at a time against the cache.
class Generator {
 public:
  /// Allocates and initializes parameters and inputs, as the stage `loaded`. `device` and `ledger`
  /// must outlive the generator.
  Generator(Device& device, Ledger& ledger, const ModelConfig& config,
            const GenerationOptions& options, const ParameterSource& source = draw_parameter);

  /// Fills a new cache with the prompts and yields each sequence's first new token.
  void prefill(const PromptLoader& load, const LogitsReader& read = nullptr);
  /// Yields each sequence's next one. At most `generate` − 1 times after a prefill. The first two
  /// steps are written down, the third is recorded by the device, and further ones run from there:
  /// all use the same memory.
  void decode(const LogitsReader& read = nullptr);
  /// Forgets the last `positions` that each sequence has in the cache, to generate from there
  /// again.
  void rewind(std::int64_t positions);

  /// The last new token of each sequence, (B, 1) int32.
  const Tensor& next_tokens() const { return next_; }
  Model& model() { return model_; }

 private:
  void run(const Tensor& tokens, std::int64_t seq, const LogitsReader& read);
  void decode_step(const LogitsReader& read);

  GenerationOptions options_;
  std::optional<StageScope> loading_;  ///< spans the members' construction below
  OpContext context_;
  Model model_;
  Tensor prompt_;  ///< (B, T)
  Tensor next_;    ///< (B, 1)
  std::optional<KvCache> cache_;
  /// A decode step as it was given to the device, whose memory is still as it was then: nothing was
  /// allocated since.
  std::unique_ptr<RecordedOps> recording_;
  std::uint64_t allocations_ = 0;  ///< when the last step that was written down ended
  int written_ = 0;                ///< such steps, with nothing allocated between them
};

}  // namespace vramfit
