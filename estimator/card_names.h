#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/cards.h"

// What people call cards.
namespace vramfit {

/// A card by what somebody called it.
struct CalledCard {
  const Card& card;
  std::vector<std::string> others;  ///< names of cards that may be meant as well, by their size
};

/// However it is spelt: its name, its driver's title, what else it is called ("also" in
/// data/gpus.json), with or without a brand in front ("4090", "RTX 4090", "Tesla T4") and the size
/// behind ("4060 Ti 16GB", "A100 40G"). Throws BadInput where it is none of them.
CalledCard card_called(std::string_view name);

/// The same; nothing where it is none of them.
std::optional<CalledCard> find_card(std::string_view name);

/// Whether it is a number of cards, "2x3090", which card_called() refuses.
bool names_several(std::string_view name);

/// The card that is called so.
const Card& card_named(std::string_view name);

}  // namespace vramfit
