#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/config/rope.h"

namespace vramfit {

enum class NormKind : std::uint8_t { RmsNorm, LayerNorm };
enum class ActivationKind : std::uint8_t { SwiGlu, Gelu };  ///< Gelu is the tanh approximation

/// A decoder-only transformer's shape: everything the step program needs to know of a model.
/// Blocks are pre-norm: x += out(attention(norm1(x))); x += down(activation(up(norm2(x)))).
struct ModelConfig {
  std::string name;    ///< for people: "llama2-7b"
  std::string family;  ///< Hugging Face's model_type
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  ///< fewer than heads: grouped-query attention
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;  ///< rows of down's input
  std::int64_t vocab = 0;
  std::int64_t max_positions = 0;
  NormKind norm = NormKind::RmsNorm;
  float norm_eps = 0;
  ActivationKind activation = ActivationKind::SwiGlu;
  std::optional<Rope> rope;  ///< absent: a learned position embedding
  std::optional<std::int64_t> sliding_window;
  bool qkv_bias = false;
  bool out_bias = false;
  bool mlp_bias = false;
  bool tied_head = false;
  std::vector<std::string> notes;  ///< what the file asks for and a run leaves out, a line each

  std::int64_t q_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  std::int64_t qkv_width() const { return q_width() + 2 * kv_width(); }
  /// Rows of the up projection: SwiGLU's holds gate and up.
  std::int64_t up_width() const { return activation == ActivationKind::SwiGlu ? 2 * ffn : ffn; }
  bool learned_positions() const { return !rope.has_value(); }
};

/// Throws BadInput where `seq` positions are more than the model has or can attend to.
void require_positions(const ModelConfig& config, std::int64_t seq);

/// A llama-shaped model of about `parameters` parameters. Where `hidden` or `layers` is absent it
/// is chosen as llama's published sizes have it (heads of 128, ffn 8/3 of hidden, vocab 32,000);
/// the rest follows. Notes say that the shape is assumed. Throws BadInput where none comes within
/// 10 % of the count.
ModelConfig assumed_llama(double parameters, std::optional<std::int64_t> hidden,
                          std::optional<std::int64_t> layers);

}  // namespace vramfit
