#pragma once

#include <string>

namespace vramfit {

/// What there is to choose from, as JSON: {"version", "models": [{"name", "family", "parameters",
/// "positions", "runtimes"}], "cards": [{"name", "title", "vram", "measured"}]}; cards by size.
std::string catalogue();

}  // namespace vramfit
