#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "model/transformer/weights.h"

namespace vramfit {

/// Parameters in parts of the model, which are used together, in the order of the forward pass. A
/// tied head's weight is the first part's, and used by the last as well.
class Units {
 public:
  /// The embeddings, each block, the final norm with the head.
  static Units of_blocks(const Weights& weights, std::int64_t layers);
  /// Each block as two: attention, then the MLP.
  static Units of_halves(const Weights& weights, std::int64_t layers);

  static constexpr int kEmbeddings = 0;
  static constexpr int of_block(int layer) { return 1 + layer; }
  static constexpr int of_attention(int layer) { return 1 + 2 * layer; }
  static constexpr int of_mlp(int layer) { return 2 + 2 * layer; }
  int head() const { return count() - 1; }
  int count() const { return static_cast<int>(own_.size()); }

  /// Numbers of the parameters that it uses, in Weights::all.
  const std::vector<std::size_t>& used(int unit) const {
    return unit == head() ? used_by_head_ : own(unit);
  }
  /// Those that it has: their gradients are complete once backward has passed it.
  const std::vector<std::size_t>& own(int unit) const {
    return own_[static_cast<std::size_t>(unit)];
  }
  /// Whether a parameter, by its number, is the embeddings' or the first block's.
  bool starts_with(std::size_t parameter) const;

 private:
  /// `unit_of`: of a block's parameter.
  Units(const Weights& weights, int count, const std::function<int(const ParameterSpec&)>& unit_of);

  std::vector<std::vector<std::size_t>> own_;
  std::vector<std::size_t> used_by_head_;
};

}  // namespace vramfit
