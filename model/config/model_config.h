#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/config/model_source.h"
#include "model/config/rope.h"

namespace vramfit {

enum class NormKind : std::uint8_t { RmsNorm, LayerNorm };
/// Gelu is the tanh approximation where a device runs it; none runs GeGlu.
enum class ActivationKind : std::uint8_t { SwiGlu, Gelu, GeGlu };

/// How a block's two parts meet its input x.
enum class Residual : std::uint8_t {
  Sequential,       ///< x += attention(norm1(x)); x += mlp(norm2(x))
  Parallel,         ///< x += attention(norm1(x)) + mlp(norm2(x)): gpt_neox
  ParallelOneNorm,  ///< x += attention(norm1(x)) + mlp(norm1(x)); no norm2: phi
};

/// Where a block's norms stand; of Residual::Sequential.
enum class BlockNorms : std::uint8_t {
  Before,  ///< x += attention(norm(x)), and so the MLP
  After,   ///< x += norm(attention(x)): olmo2
  Around,  ///< x += norm(attention(norm(x))): gemma2
};

/// The norms of q and of k before rotation.
enum class QkNorm : std::uint8_t {
  None,
  Head,   ///< over each head, one weight for all
  Width,  ///< over all heads at once: olmo2
};

/// Rates of dropout in training; 0: none.
struct Dropout {
  double embedding = 0;
  double attention = 0;  ///< on attention's probabilities
  double residual = 0;   ///< on what attention and MLP add to the residual stream

  bool any() const { return embedding > 0 || attention > 0 || residual > 0; }
};

/// A model that is no more of a shape to this project than its runtime's recording of its code
/// says.
struct TapedShape {
  std::string tape;  ///< its name
  std::int64_t parameters = 0;
  std::vector<std::string> projections;     ///< linears of its layers, by name
  std::vector<std::string> lora_targets;    ///< PEFT's own; none: it has none
  std::vector<std::string> expert_targets;  ///< for which PEFT adapts experts, too
  std::vector<std::string> layer_kinds;     ///< of each layer
  bool has_experts = false;                 ///< whose weights lie in one tensor, and not in a file
};

/// A decoder-only transformer's shape: everything a step program needs to know of a model.
/// Attention is out(attention(rotate(qkv(x)))), the MLP down(activation(up(x))).
struct ModelConfig {
  std::string name;    ///< for people: "llama2-7b"
  std::string family;  ///< Hugging Face's model_type
  std::string dtype;   ///< torch's name of what its file says weights are stored in, or nothing
  /// Where they are stored in bitsandbytes' format: the flags that say so, "quant" among them.
  std::map<std::string, std::string> stored_quant;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  ///< fewer than heads: grouped-query attention
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;  ///< rows of down's input
  std::int64_t vocab = 0;
  std::int64_t max_positions = 0;  ///< 0: not known, of an assumed shape
  NormKind norm = NormKind::RmsNorm;
  float norm_eps = 0;
  ActivationKind activation = ActivationKind::SwiGlu;
  std::string hidden_act = "silu";  ///< Hugging Face's name: which of its ops compute it
  Residual residual = Residual::Sequential;
  std::optional<Rope> rope;                    ///< absent: a learned position embedding
  std::optional<std::int64_t> sliding_window;  ///< present where any layer slides
  std::vector<bool> sliding_layers;            ///< which do; as many as layers, or none
  bool qkv_bias = false;
  bool out_bias = false;
  bool mlp_bias = false;
  bool head_bias = false;
  BlockNorms block_norms = BlockNorms::Before;
  QkNorm qk_norm = QkNorm::None;
  bool tied_head = false;
  bool scores_softcap = false;  ///< attention's scores pass through a tanh: gemma2
  bool logits_softcap = false;  ///< and so do the head's logits
  Dropout dropout;
  std::optional<TapedShape> taped;  ///< present: what else is said here is said for people
  std::vector<std::string> notes;   ///< what was assumed of the shape, a line each
  /// What it was read from; null: assumed.
  std::shared_ptr<const ModelSource> source = nullptr;

  std::int64_t q_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  std::int64_t qkv_width() const { return q_width() + 2 * kv_width(); }
  /// Rows of the up projection: a gated one's holds gate and up.
  std::int64_t up_width() const { return activation == ActivationKind::Gelu ? ffn : 2 * ffn; }
  /// Of each head, how many dimensions are rotated.
  std::int64_t rotary_dim() const { return rope ? rope->dims(head_dim) : 0; }
  std::int64_t q_norm_width() const { return qk_norm == QkNorm::Head ? head_dim : q_width(); }
  std::int64_t k_norm_width() const { return qk_norm == QkNorm::Head ? head_dim : kv_width(); }
  /// Norms of the residual stream in a block.
  std::size_t block_norm_count() const {
    if (residual == Residual::ParallelOneNorm) return 1;
    return block_norms == BlockNorms::Around ? 4 : 2;
  }
  bool learned_positions() const { return !rope.has_value(); }
  bool slides(std::int64_t layer) const {
    return sliding_window && sliding_layers.at(static_cast<std::size_t>(layer));
  }
};

/// Whether two layers are of one kind: all that one has of its own.
bool alike(const ModelConfig& config, std::int64_t layer, std::int64_t other);
/// The same without `count` layers from `first` on.
ModelConfig without_layers(ModelConfig config, std::int64_t first, std::int64_t count);

/// What its file calls max_positions.
const char* positions_key(const ModelConfig& config);

/// Throws BadInput where `seq` positions are more than the model has or can attend to.
void require_positions(const ModelConfig& config, std::int64_t seq);

}  // namespace vramfit
