#pragma once

#include <nlohmann/json_fwd.hpp>

#include "estimator/ask/environment.h"
#include "estimator/ask/options.h"

namespace vramfit {

/// What a run of somebody's script is told of its GPU, as standin/card/facts.h reads it, and for
/// its verdict: `gpu` (null where the catalogue lacks it), `overhead_source`, `assumed_from` (the
/// card whose figures stand in for this one's, empty where it was measured), `uncertainty` (bytes
/// that driver and libraries may be off by, either way), `notes` (what was assumed). Of `options`
/// only the GPU is read. Throws BadInput, also where none is named and this machine has none.
nlohmann::json card_facts(const FitOptions& options, const Environment& environment);

}  // namespace vramfit
