#include "runtimes/llamacpp/base/context_params.h"

#include <algorithm>

#include "model/errors.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {
namespace {

// Keys and values of a head are whole blocks of their type (llama_init_from_model, ggml_row_size).
void check_blocks(const char* what, Format type, std::int64_t head) {
  const std::int64_t block = type.row().block;
  if (is_quantized(type) && head % block != 0) {
    throw BadInput(std::string("a cache of ") + what + " in " + type.name() +
                   ", whose blocks have " + std::to_string(block) +
                   " elements, does not hold heads of " + std::to_string(head) + "; take fp16");
  }
}

}  // namespace

ContextParams settle(const ContextOptions& options, const Hparams& hparams) {
  ContextParams params;
  params.sequences = std::max<std::int64_t>(1, options.sequences);
  if (params.sequences > kMostSequences) {
    throw BadInput("llama.cpp has at most " + std::to_string(kMostSequences) + " sequences; " +
                   std::to_string(params.sequences) + " were asked for");
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
  for (const Layer& layer : hparams.layers) {
    check_blocks("keys", options.type_k, hparams.head_k_of(layer));
    check_blocks("values", options.type_v, hparams.head_v_of(layer));
  }
  params.streams = options.unified ? 1 : params.sequences;
  return params;
}

}  // namespace vramfit::llamacpp
