#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "estimator/estimate.h"

namespace vramfit {

/// Rises when the objects below change.
inline constexpr int kEstimateSchema = 1;

/// An estimate as one object for programs; sizes are integers in bytes.
nlohmann::ordered_json estimate_json(const Request& request, const Estimate& estimate);

/// Estimates of one model and workload on several cards: `fits` where it fits on any of them.
nlohmann::ordered_json estimates_json(const std::vector<Request>& requests,
                                      const std::vector<Estimate>& estimates);

}  // namespace vramfit
