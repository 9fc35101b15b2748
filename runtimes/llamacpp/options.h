#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtimes/llamacpp/base/run_options.h"

namespace vramfit::llamacpp {

inline constexpr std::uint64_t kUsualMargin = std::uint64_t{1} << 30;  ///< fit_params_target

/// How it is started: the server's flags.
struct Options {
  Placement placement;
  ContextOptions context;
  std::string recipe;        ///< of llama-quantize: "Q4_K_M"; empty: a GGUF file's own types
  std::int64_t gpus = 1;     ///< all alike
  bool fits_itself = false;  ///< --fit on: what was left open is set by what the card has free
  std::vector<std::uint64_t> margins = {kUsualMargin};  ///< that --fit leaves free
  std::uint32_t least_context = 4096;                   ///< that --fit goes down to
};

}  // namespace vramfit::llamacpp
