#pragma once

#include <cstdint>
#include <string>

namespace vramfit {

/// What is asked of a model whose config was read, the cheap first.
enum class Asked : std::uint8_t { Counts, DryRuns, Estimates };

/// Reads `text` as a config.json, and where that works, uses the shape it describes as a program
/// would. True: it was read; false: it was refused with a BadInput. Anything else that happens, and
/// a message or a shape that breaks a promise of the reader, aborts.
bool survives_config(const std::string& text, Asked asked);

}  // namespace vramfit
