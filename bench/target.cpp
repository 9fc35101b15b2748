#include "bench/target.h"

#include <algorithm>
#include <iostream>

#include "bench/list.h"
#include "model/errors.h"

namespace vramfit::bench {
namespace {

constexpr const char* kVirtual = "virtual:";
constexpr const char* kDefaultCard = "h200";

std::vector<const Card*> parse_card_list(const std::string& list) {
  std::vector<const Card*> cards;
  for (const std::string& name : split(list)) {
    const Card* card = nullptr;
    try {
      card = &card_named(name);
    } catch (const BadInput& error) {
      throw BadInput("device: " + std::string(error.what()));
    }
    if (std::find(cards.begin(), cards.end(), card) == cards.end()) cards.push_back(card);
  }
  return cards;
}

}  // namespace

std::string Target::name() const {
  if (device) return device->name();
  std::string list;
  for (const Card* card : cards) list += (list.empty() ? "" : ",") + card->name;
  return kVirtual + list;
}

Target open_target(const std::string& device) {
  Target target;
  if (device.rfind(kVirtual, 0) == 0) {
    target.cards = parse_card_list(device.substr(std::string(kVirtual).size()));
    return target;
  }
  target.device = open_real_device(device);
  if (!target.device) {
    target.cards = {&card_named(kDefaultCard)};
    std::cerr << "bench: no GPU to measure on; figures are predicted, on " << target.name()
              << " (--device chooses)\n";
  }
  return target;
}

}  // namespace vramfit::bench
