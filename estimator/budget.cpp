#include "estimator/budget.h"

#include <algorithm>

namespace vramfit {
namespace {

const Card& nearest_in_size(std::uint64_t vram) {
  const auto distance = [vram](const Card& card) {
    return card.vram > vram ? card.vram - vram : vram - card.vram;
  };
  return *std::min_element(cards().begin(), cards().end(),
                           [&](const Card& a, const Card& b) { return distance(a) < distance(b); });
}

}  // namespace

Budget budget_of(const Card& card) {
  return {card.name, card.title, card.arch, card.vram, card.overhead, 0, {}};
}

Budget budget_of_size(std::uint64_t vram) {
  const Card& like = nearest_in_size(vram);
  Budget budget{"", "a GPU of this size", like.arch, vram, assumed(like.overhead), 0, {}};
  budget.notes.push_back("sm_" + std::to_string(like.arch.sm) + " assumed, as the " + like.name +
                         " is, the nearest in size (--gpu says which)");
  return budget;
}

Budget budget_of_gpu(const std::string& title, Arch arch, std::uint64_t vram) {
  for (const Card& card : cards()) {
    if (card.title == title) return {card.name, title, arch, vram, card.overhead, 0, {}};
  }
  return {"", title, arch, vram, assumed(nearest_in_size(vram).overhead), 0, {}};
}

}  // namespace vramfit
