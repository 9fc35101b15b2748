#include "runtimes/llamacpp/base/context_params.h"

#include <algorithm>

#include "model/errors.h"

namespace vramfit::llamacpp {
namespace {

constexpr std::int64_t kMaxSequences = 256;  // LLAMA_MAX_SEQ

}  // namespace

ContextParams settle(const ContextOptions& options, const Hparams& hparams) {
  ContextParams params;
  params.sequences = std::max<std::int64_t>(1, options.sequences);
  if (params.sequences > kMaxSequences) {
    throw BadInput("llama.cpp has at most 256 sequences; " + std::to_string(params.sequences) +
                   " were asked for");
  }
  params.context = options.context == 0 ? hparams.context_train : options.context;
  params.batch = std::min(params.context, options.batch);
  params.ubatch = std::min(params.batch, options.ubatch == 0 ? options.batch : options.ubatch);
  params.outputs_max = options.outputs_max == 0 ? params.batch : options.outputs_max;
  if (params.outputs_max < params.sequences) {
    throw BadInput("llama.cpp needs room for a row of logits a sequence; " +
                   std::to_string(params.outputs_max) + " rows are too few for " +
                   std::to_string(params.sequences) + " sequences");
  }

  params.context = whole_cells(params.context);
  params.context_seq =
      options.unified ? params.context : whole_cells(params.context / params.sequences);
  if (params.context_seq == 0) {
    throw BadInput("a context of " + std::to_string(options.context) + " is too short for " +
                   std::to_string(params.sequences) + " sequences; each takes 256 positions");
  }
  if (!options.unified) params.context = params.context_seq * params.sequences;
  params.streams = options.unified ? 1 : params.sequences;
  return params;
}

}  // namespace vramfit::llamacpp
