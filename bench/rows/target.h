#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/devices/real_device.h"
#include "estimator/cards.h"
#include "estimator/profile.h"

namespace vramfit::bench {

/// What --device stands for: a real device, or virtual cards.
class Target {
 public:
  /// `device` as typed, or "" for the default: a GPU where one answers, otherwise the virtual H200.
  /// `profile`, where there is one, is every card's overhead: marked
  /// as assumed on those that are not of its kind. Throws BadInput.
  Target(const std::string& device, const MeasuringOptions& measuring,
         const std::optional<std::string>& profile = std::nullopt);

  RealDevice* device() const { return device_.get(); }  ///< null: predictions only
  /// The cards for rows that name none: the virtual ones, or the one that the real device is; none
  /// on a CPU.
  const std::vector<const Card*>& cards() const { return cards_; }

  /// A card of the catalogue, or for a size ("24GB") what a card of that size would be here.
  /// Throws BadInput.
  const Card& card(const std::string& name);

  bool is_gpu() const { return device_ && !cards_.empty(); }
  /// A virtual card was taken because there is no GPU.
  bool stands_in() const { return stands_in_; }

  /// As --device spells it, or longer: "virtual:h200,rtx4090", "cpu", "cuda:0 NVIDIA H200".
  std::string name() const;

 private:
  const Card& keep(Card card);
  Card make_card(const std::string& name) const;

  std::unique_ptr<RealDevice> device_;
  bool stands_in_ = false;
  std::optional<Profile> profile_;
  std::deque<Card> kept_;  ///< stay where they are
  std::vector<const Card*> cards_;
};

}  // namespace vramfit::bench
