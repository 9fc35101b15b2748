#pragma once

#include <cstddef>
#include <vector>

#include "model/transformer/weights.h"

namespace vramfit {

/// Parameters that are used together, in the order of the forward pass: the embeddings, each block,
/// the final norm with the head. A tied head's weight is in the first and in the last.
class Units {
 public:
  explicit Units(const Weights& weights, std::int64_t layers);

  static constexpr int kEmbeddings = 0;
  static constexpr int of_block(int layer) { return layer + 1; }
  int head() const { return count() - 1; }
  int count() const { return static_cast<int>(members_.size()); }

  /// Numbers of its parameters, in Weights::all.
  const std::vector<std::size_t>& members(int unit) const {
    return members_[static_cast<std::size_t>(unit)];
  }
  /// Those whose gradients are complete once backward has passed the unit.
  const std::vector<std::size_t>& completed(int unit) const {
    return completed_[static_cast<std::size_t>(unit)];
  }

 private:
  std::vector<std::vector<std::size_t>> members_;
  std::vector<std::vector<std::size_t>> completed_;
};

}  // namespace vramfit
