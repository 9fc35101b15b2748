#include "runtimes/vllm/partition.h"

#include "model/errors.h"
#include "runtimes/vllm/rank_experts.h"
#include "runtimes/vllm/seeing.h"

namespace vramfit::vllm {
namespace {

class Ranks {
 public:
  Ranks(std::int64_t count, const std::string& whose) : count_(count), whose_(whose) {}

  /// What is divided (ensure_divisibility).
  void share(std::int64_t number, const char* what) const {
    if (number % count_ != 0) refuse(number, what, "a divisor");
  }
  /// LlamaAttention and its like: shared out, or each is there several times.
  void share_or_repeat(std::int64_t number, const char* what) const {
    if ((number >= count_ ? number % count_ : count_ % number) != 0) {
      refuse(number, what, "a divisor or a multiple");
    }
  }
  /// MambaMixer2: one group alone is each rank's.
  void share_or_have(std::int64_t number, const char* what) const {
    if (number != 1) share(number, what);
  }

 private:
  [[noreturn]] void refuse(std::int64_t number, const char* what, const char* instead) const {
    throw BadInput("tensor-parallel: " + std::to_string(number) + ' ' + what + whose_ +
                   " are not shared out evenly by " + std::to_string(count_) +
                   ", which vLLM refuses; " + instead);
  }

  std::int64_t count_;
  const std::string& whose_;
};

void require_even_states(const Recurrent& of, const Ranks& ranks) {
  switch (of.by) {
    case Mixing::None:
      break;
    case Mixing::DeltaNet:
      ranks.share(of.key_heads, "key heads of layers that keep a state");
      ranks.share(of.value_heads, "value heads of layers that keep a state");
      break;
    case Mixing::Mamba2:
      ranks.share(of.value_heads, "heads of layers that keep a state");
      ranks.share_or_have(of.key_heads, "groups of layers that keep a state");
      break;
    case Mixing::ShortConvolution:
      ranks.share(of.values(), "channels of convolutions");
      break;
  }
}

void require_even_experts(const Shape& shape, const Options& options) {
  const std::int64_t sharing = ranks_of_experts(options);
  if (!shape.mixture() || options.expert_parallel || shape.experts.width % sharing == 0) return;
  throw BadInput(std::string(options.data_parallel > 1 ? "data-parallel" : "tensor-parallel") +
                 ": an expert's width, " + std::to_string(shape.experts.width) +
                 ", is not shared out evenly by " + std::to_string(sharing) +
                 " GPUs, which vLLM refuses; a divisor, or --enable-expert-parallel");
}

}  // namespace

void require_even_shares(const Shape& shape, const Options& options, const std::string& whose) {
  const Ranks ranks(options.tensor_parallel, whose);
  const Layer& first = shape.layers.front();
  ranks.share(first.heads, "heads");
  if (first.keeps != Keeps::Latent) ranks.share_or_repeat(first.kv_heads, "heads of keys");
  require_even_states(shape.recurrent, ranks);
  for (const Layer& layer : shape.layers) ranks.share(layer.ffn, "channels of an MLP");
  if (has_tower(shape, options) && shares_tower(shape, options)) {
    for (const Tile& tile : shape.tower) ranks.share(tile.shares, "heads or channels of what sees");
  }
  require_even_experts(shape, options);
  if (!shares_tokens_out(options)) ranks.share(shape.experts.shared, "channels of shared experts");
}

}  // namespace vramfit::vllm
