#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtimes/llamacpp/base/run_options.h"

namespace vramfit::llamacpp {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kUsualMargin = std::uint64_t{1} << 30;  ///< fit_params_target

/// How a smaller model is started beside it, whose drafts it checks: --spec-draft-….
struct DraftOptions {
  std::string recipe;                                          ///< as Options has it
  std::int64_t gpu_layers = -1;                                ///< -ngld
  Format type_k = DType::Fp16;                                 ///< -ctkd
  Format type_v = DType::Fp16;                                 ///< -ctvd
  std::vector<std::pair<std::string, std::string>> overrides;  ///< -otd
  std::int64_t cpu_moe_layers = 0;                             ///< -ncmoed, -cmoed
  std::int64_t longest = 0;  ///< tokens of a draft: --spec-draft-n-max; 0: none is made
};

/// How it is started: the server's flags.
struct Options {
  Placement placement;
  ContextOptions context;
  DraftOptions draft;
  std::string recipe;        ///< of llama-quantize: "Q4_K_M"; empty: a GGUF file's own types
  std::int64_t gpus = 1;     ///< all alike
  bool one_cache = false;    ///< -kvu: of so many slots as are asked for, too
  bool fits_itself = false;  ///< --fit on: what was left open is set by what the card has free
  std::vector<std::uint64_t> margins = {kUsualMargin};  ///< that --fit leaves free
  std::uint32_t least_context = 4096;                   ///< that --fit goes down to
};

/// Rows of logits that a server keeps for each batch: of each slot the token and its draft
/// (common_speculative_get_output_limits). Where a whole batch's are kept, those.
inline void set_outputs(Options& options) {
  ContextOptions& context = options.context;
  if (context.outputs_max == 0) return;
  context.outputs_max = std::min(context.batch, context.sequences * (1 + options.draft.longest));
}

}  // namespace vramfit::llamacpp
