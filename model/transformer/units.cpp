#include "model/transformer/units.h"

#include <algorithm>

namespace vramfit {
namespace {

bool is_of_mlp(Role role) {
  switch (role) {
    case Role::Norm2Weight:
    case Role::Norm2Bias:
    case Role::UpWeight:
    case Role::UpBias:
    case Role::DownWeight:
    case Role::DownBias:
    case Role::Norm2BehindWeight:
    case Role::UpLoraA:
    case Role::UpLoraB:
    case Role::DownLoraA:
    case Role::DownLoraB:
      return true;
    default:
      return false;
  }
}

}  // namespace

Units Units::of_blocks(const Weights& weights, std::int64_t layers) {
  return {weights, static_cast<int>(layers) + 2,
          [](const ParameterSpec& spec) { return of_block(spec.layer); }};
}

Units Units::of_halves(const Weights& weights, std::int64_t layers) {
  return {weights, 2 * static_cast<int>(layers) + 2, [](const ParameterSpec& spec) {
            return is_of_mlp(spec.role) ? of_mlp(spec.layer) : of_attention(spec.layer);
          }};
}

Units::Units(const Weights& weights, int count,
             const std::function<int(const ParameterSpec&)>& unit_of)
    : own_(static_cast<std::size_t>(count)) {
  const std::vector<Parameter>& all = weights.all();
  const auto unit = [&](const ParameterSpec& spec) {
    if (spec.layer >= 0) return unit_of(spec);
    const bool embeds = spec.role == Role::TokenEmbedding || spec.role == Role::PositionEmbedding;
    return embeds ? kEmbeddings : count - 1;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    own_[static_cast<std::size_t>(unit(all[i].spec))].push_back(i);
  }
  used_by_head_ = own_.back();
  for (const std::size_t i : own_.front()) {
    if (all[i].spec.role == weights.head_role()) used_by_head_.push_back(i);
  }
}

bool Units::starts_with(std::size_t parameter) const {
  const auto has = [&](int unit) {
    const auto& of_unit = own(unit);
    return std::find(of_unit.begin(), of_unit.end(), parameter) != of_unit.end();
  };
  return has(kEmbeddings) || has(of_block(0));
}

}  // namespace vramfit
