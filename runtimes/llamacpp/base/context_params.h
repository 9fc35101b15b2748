#pragma once

#include <cstdint>

#include "runtimes/llamacpp/base/hparams.h"
#include "runtimes/llamacpp/base/run_options.h"

namespace vramfit::llamacpp {

/// Sizes as llama_context's constructor settles them (llama_cparams).
struct ContextParams {
  std::int64_t context = 0;      ///< n_ctx: positions in all
  std::int64_t context_seq = 0;  ///< n_ctx_seq: of one stream, which is what a cache has
  std::int64_t batch = 0;
  std::int64_t ubatch = 0;
  std::int64_t sequences = 1;  ///< n_seq_max
  std::int64_t outputs_max = 0;
  std::int64_t streams = 1;  ///< of caches: one for all sequences, or one for each
};

/// Positions as caches have them: in whole 256 (GGML_PAD).
constexpr std::int64_t whole_cells(std::int64_t positions) { return (positions + 255) / 256 * 256; }

/// Throws BadInput where llama.cpp refuses.
ContextParams settle(const ContextOptions& options, const Hparams& hparams);

}  // namespace vramfit::llamacpp
