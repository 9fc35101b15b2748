#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "estimator/ask/environment.h"
#include "estimator/ask/options.h"
#include "estimator/estimate.h"

namespace vramfit {

/// Many estimates, one after the other, and no more: each is of a run of one size on one card,
/// without the allocation that does not fit. Of runs that differ in their sizes alone the first is
/// read, which takes as long as an estimate.
class Sweep {
 public:
  /// Must outlive it.
  explicit Sweep(const Environment& environment) : environment_(environment) {}

  /// What one run takes.
  struct Result {
    Estimate estimate;
    bool fits;  ///< beyond doubt, where it was asked strictly
  };
  /// `flags`: as options_of() takes them. Throws as ask() does, and where a size or a card is asked
  /// for.
  Result operator()(const nlohmann::json& flags);

 private:
  struct Run {
    Request request;
    bool strict;
    bool of_samples;                           ///< which may bound its sequence
    std::map<std::string, std::string> typed;  ///< as FitOptions has it
  };
  Run read(const nlohmann::json& flags) const;

  const Environment& environment_;
  /// By their flags but for sizes, and which of those were given; none: refused.
  std::map<std::pair<nlohmann::json, std::string>, std::optional<Run>> runs_;
};

}  // namespace vramfit
