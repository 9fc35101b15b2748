#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "runtimes/llamacpp/weights/recipe.h"

namespace vramfit::llamacpp {

/// What a tensor's type hangs on: tensor_category of src/llama-quant.cpp.
enum class Category : std::uint8_t {
  Embedding,
  Q,
  K,
  V,
  Qkv,
  KvB,
  AttentionOutput,
  FfnUp,
  FfnGate,
  FfnDown,
  Output,
  Other
};

/// Chooses the type of one tensor after another, as llama_tensor_get_type: it counts those of each
/// category, since the first and the last get more bits.
class TypeChoice {
 public:
  /// `type`: that of most tensors under the recipe.
  TypeChoice(Recipe recipe, Format type, const Hparams& hparams,
             const std::vector<ModelTensor>& tensors);

  Format of(const ModelTensor& tensor);

 private:
  /// Those of a category so far, and how many there will be.
  struct Counter {
    std::int64_t next = 0;
    std::int64_t all = 0;
  };

  bool is(std::initializer_list<Recipe> recipes) const;
  bool more_experts() const { return hparams_.experts == 8; }
  /// Which layer of how many: by name where there are experts, since files of these come in any
  /// order.
  Counter layer(const Counter& counter, const ModelTensor& tensor) const;

  Format chosen(const ModelTensor& tensor, Category category);
  Format of_output(const ModelTensor& tensor) const;
  Format of_embedding() const;
  /// Under recipes of about two bits and less.
  Format of_two_bits(Category category);
  Format of_values();
  Format of_values_by_recipe(const Counter& at) const;
  Format of_keys() const;
  Format of_queries() const;
  Format of_down(const ModelTensor& tensor);
  Format of_attention_output() const;
  Format of_gate_or_up(Counter& counter, const ModelTensor& tensor);

  Recipe recipe_;
  Format type_;
  const Hparams& hparams_;
  bool tied_;
  bool falcon_;
  std::int64_t group_;  ///< n_gqa: queries' heads to one of keys
  Counter values_;
  Counter down_;
  Counter gate_;
  Counter up_;
};

}  // namespace vramfit::llamacpp
