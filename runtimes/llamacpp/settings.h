#pragma once

#include "runtimes/setting.h"

namespace vramfit::llamacpp {

inline constexpr const char* kUsualRecipe = "Q4_K_M";

/// A row each: llama.cpp's own flags, and Ollama's.
const Settings& settings();

}  // namespace vramfit::llamacpp
