#include "bench/rows/target.h"

#include <algorithm>
#include <iostream>

#include "bench/rows/axes.h"
#include "bench/rows/list.h"
#include "estimator/budget.h"
#include "estimator/data_path.h"
#include "model/errors.h"
#include "model/quantity.h"

namespace vramfit::bench {
namespace {

constexpr const char* kVirtual = "virtual:";
constexpr const char* kDefaultCard = "h200";

Card card_of_size(const std::string& name, std::uint64_t vram) {
  const Budget budget = budget_of_size(vram);
  Card card;
  card.name = name;
  card.title = budget.title;
  card.arch = budget.arch;
  card.vram = vram;
  card.overhead = budget.overhead;
  card.overhead_assumed = true;
  return card;
}

}  // namespace

Target::Target(const std::string& device, const MeasuringOptions& measuring,
               const std::optional<std::string>& profile) {
  if (profile) profile_ = read_profile(*profile);
  std::string list = device;
  if (device.rfind(kVirtual, 0) != 0) {
    device_ = open_real_device(device, measuring);
    if (device_) {
      if (auto own = device_->card()) cards_.push_back(&keep(*own));
      return;
    }
    list = std::string(kVirtual) + kDefaultCard;
    std::cerr << "bench: no GPU to measure on; figures are predicted, on " << list
              << " (--device chooses)\n";
  }
  for (const std::string& name : split(list.substr(std::string(kVirtual).size()))) {
    try {
      const Card* one = &card(name);
      if (std::find(cards_.begin(), cards_.end(), one) == cards_.end()) cards_.push_back(one);
    } catch (const BadInput& error) {
      throw BadInput("device: " + std::string(error.what()));
    }
  }
}

const Card& Target::card(const std::string& name) {
  const auto kept =
      std::find_if(kept_.begin(), kept_.end(), [&](const Card& card) { return card.name == name; });
  return kept != kept_.end() ? *kept : keep(make_card(name));
}

Card Target::make_card(const std::string& name) const {
  if (!is_size(name)) return card_named(name);
  const std::uint64_t vram = parse_bytes("vram", name);
  return device_ ? device_->card_of(name, vram) : card_of_size(name, vram);
}

const Card& Target::keep(Card card) {
  if (profile_) {
    card.overhead_assumed = card.title != profile_->gpu;
    card.overhead = card.overhead_assumed ? assumed(profile_->overhead) : profile_->overhead;
  }
  kept_.push_back(std::move(card));
  return kept_.back();
}

std::string Target::name() const {
  if (device_) return device_->name();
  std::string list;
  for (const Card* card : cards_) list += (list.empty() ? "" : ",") + card->name;
  return kVirtual + list;
}

}  // namespace vramfit::bench
