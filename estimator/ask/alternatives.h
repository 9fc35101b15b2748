#pragma once

#include <vector>

#include "estimator/ask/question.h"

namespace vramfit {

/// The runs that people are next to, or may have meant. `flags` are those of the request, its
/// precision among them.
std::vector<Alternative> alternatives(const FitOptions& options, const Flags& flags,
                                      const Request& request);

}  // namespace vramfit
