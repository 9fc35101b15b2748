#pragma once

#include <string>

namespace vramfit {

/// What there is to choose from, as JSON: {"version", "models": [{"name", "family", "parameters",
/// "positions", "runtimes"}], "cards": [{"name", "title", "vram", "measured"}],
/// "other_cards": those without CUDA, [{"name", "title", "vram", "platform"}], "switches",
/// "runtimes"}; cards by size, runtimes as runtimes_json() has them. Of models whose shape a
/// runtime reads by itself, a name and "runtimes" alone.
std::string catalogue();

}  // namespace vramfit
