#include "bench/rows/target.h"

#include <algorithm>

#include "bench/rows/axes.h"
#include "bench/rows/list.h"
#include "estimator/card_names.h"
#include "model/errors.h"
#include "model/quantity.h"

namespace vramfit::bench {
namespace {

constexpr const char* kVirtual = "virtual:";

Card unnamed_card(const std::string& name, std::uint64_t vram) {
  Card card = card_of_size(vram);
  card.name = name;
  card.title = "a GPU of this size";
  card.other_titles.clear();
  card.vram = vram;
  card.overhead = assumed(card.overhead, card.title);
  card.overhead_assumed = true;
  card.article_vram_gb.reset();
  return card;
}

/// Of --device=virtual:NAME.
void require_card(const std::string& name) {
  if (is_size(name)) {
    canonical_size("device", name);
    return;
  }
  const bool known = std::any_of(cards().begin(), cards().end(),
                                 [&](const Card& card) { return card.name == name; });
  if (known) return;
  throw BadInput("device: virtual:" + name +
                 " is no card; virtual:NAME with one that vramfit --list shows, or virtual:24GB");
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
    stands_in_ = true;
  }
  for (const std::string& name : split(list.substr(std::string(kVirtual).size()))) {
    require_card(name);
    const Card* one = &card(name);
    if (std::find(cards_.begin(), cards_.end(), one) == cards_.end()) cards_.push_back(one);
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
  return device_ ? device_->card_of(name, vram) : unnamed_card(name, vram);
}

const Card& Target::keep(Card card) {
  if (profile_) {
    card.overhead_assumed = card.title != profile_->gpu;
    card.overhead = overhead_of(card, *profile_);
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
