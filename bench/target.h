#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/real_device.h"
#include "estimator/cards.h"

namespace vramfit::bench {

/// What --device stands for: a real device, or virtual cards.
struct Target {
  std::unique_ptr<RealDevice> device;  ///< null: predictions only
  std::vector<const Card*> cards;      ///< the virtual ones; empty with a real device

  /// As --device spells it, or longer: "virtual:h200,rtx4090", "cpu".
  std::string name() const;
};

/// `device` as typed, or "" for the default: a GPU where one answers, otherwise the virtual H200,
/// which is then said on stderr. Throws BadInput.
Target open_target(const std::string& device);

}  // namespace vramfit::bench
