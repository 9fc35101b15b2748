#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "runtimes/llamacpp/base/model.h"

namespace vramfit::llamacpp {

/// Whether a linear layer has a bias beside its weight.
enum class Bias : bool { No, Yes };

/// The tensors of a converted model, in the order in which they are added, without types: they are
/// the recipe's to choose (recipe.h). Parts that many architectures share are said once.
class TensorList {
 public:
  explicit TensorList(const Hparams& hparams) : h_(hparams) {}

  std::vector<ModelTensor> take() { return std::move(tensors_); }

  void add(const std::string& name, std::initializer_list<std::int64_t> ne);
  /// "blk.<layer>.<name>".
  void add(std::size_t layer, const std::string& name, std::initializer_list<std::int64_t> ne);
  /// "blk.<layer>.<name>.weight" and, with a bias, "….bias".
  void linear(std::size_t layer, const std::string& name, std::int64_t in, std::int64_t out,
              Bias bias = Bias::No);
  /// "blk.<layer>.<name>.weight", as wide as the model.
  void norm(std::size_t layer, const std::string& name) { norm(layer, name, h_.embd); }
  void norm(std::size_t layer, const std::string& name, std::int64_t width) {
    add(layer, name + ".weight", {width});
  }

  /// Embedding, last norm and head; a tied head has no tensor.
  void ends(bool tied);
  /// attn_q, attn_k, attn_v by the layer's heads, then their biases.
  void qkv(std::size_t layer, Bias bias = Bias::No);
  /// attn_output.
  void attention_output(std::size_t layer, Bias bias = Bias::No);
  /// Norms of each head's queries and keys.
  void qk_norms(std::size_t layer);
  /// ffn_gate, ffn_up and ffn_down, `ffn` wide.
  void gated_ffn(std::size_t layer, std::int64_t ffn, Bias bias = Bias::No);
  /// The router and all experts, stacked.
  void experts(std::size_t layer, std::int64_t ffn);
  /// Those that every token takes.
  void shared_experts(std::size_t layer, std::int64_t ffn);
  /// What a layer of next-token prediction has beside a layer's own.
  void nextn(std::size_t layer);

 private:
  const Hparams& h_;
  std::vector<ModelTensor> tensors_;
};

}  // namespace vramfit::llamacpp
