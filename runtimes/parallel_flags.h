#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtimes/flags.h"

// --gpus and --strategy, which every runtime that spreads a run over GPUs spells alike.
namespace vramfit {

/// How each is said of in --help.
inline constexpr const char* kGpusHelp = "of so many GPUs; batch is each one's (default 1)";

/// What was typed for several GPUs, each of which has a batch of its own.
struct SeveralGpus {
  std::int64_t gpus = 2;
  std::optional<std::string> strategy;  ///< '-' for '_': "data-parallel"; absent: none was named
};

/// Absent without --gpus, or with one. Throws BadInput where it is no number, or --strategy has
/// nothing to share between.
std::optional<SeveralGpus> several_gpus(const Flags& flags);

}  // namespace vramfit
