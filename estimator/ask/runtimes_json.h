#pragma once

#include <nlohmann/json_fwd.hpp>

namespace vramfit {

/// What each runtime can be told and asked, for those that make forms or types of it:
/// [{"name", "training", "advice", "formulas", "timelines", "machines" (cards of several kinds),
///   "other_platforms" (cards without CUDA), whether it has them,
///   "axes": [{"name", "noun", "before", "after", "of_positions", "of_names", "step"}], as in a
///   SearchAxis, "settings": [{"name", "task", "training" or "inference", null: of both, "takes",
///   "text",
///     "number", "list", "truth" or "nothing", "choices", "offers": [{"value", "title"}],
///     "spellings": [{"name", "switch"}]}]}]
nlohmann::ordered_json runtimes_json();

}  // namespace vramfit
