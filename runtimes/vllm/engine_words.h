#pragma once

#include <span>

#include "runtimes/foreign_words.h"

namespace vramfit::vllm {

/// Arguments of vLLM's that are no settings here, and what becomes of each.
std::span<const ForeignWord> engine_words();

}  // namespace vramfit::vllm
