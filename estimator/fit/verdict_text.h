#pragma once

#include <string>

#include "estimator/estimate.h"

namespace vramfit::fit {

/// "on rtx4090: NVIDIA GeForce RTX 4090, sm_89".
std::string on_text(const Budget& budget);

/// "0.66 GB (0.62 GiB) to spare of 25.76 GB (23.99 GiB)".
std::string margin_text(const Estimate& estimate, const Budget& budget);

/// The verdict and its margin; where it is tight, what figures may be off by.
std::string verdict_text(const Estimate& estimate, const Budget& budget, bool colours);

}  // namespace vramfit::fit
