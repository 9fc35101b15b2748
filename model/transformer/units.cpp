#include "model/transformer/units.h"

namespace vramfit {
namespace {

int home_of(const ParameterSpec& spec, int head) {
  if (spec.layer >= 0) return Units::of_block(spec.layer);
  const bool embeds = spec.role == Role::TokenEmbedding || spec.role == Role::PositionEmbedding;
  return embeds ? Units::kEmbeddings : head;
}

}  // namespace

Units::Units(const Weights& weights, std::int64_t layers) {
  completed_.resize(static_cast<std::size_t>(layers) + 2);
  const int last = static_cast<int>(completed_.size()) - 1;
  const std::vector<Parameter>& all = weights.all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    completed_[static_cast<std::size_t>(home_of(all[i].spec, last))].push_back(i);
  }
  members_ = completed_;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].spec.role == Role::TokenEmbedding && weights.head_role() == Role::TokenEmbedding) {
      members_.back().push_back(i);
    }
  }
}

}  // namespace vramfit
