#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtimes/llamacpp/base/hparams.h"
#include "runtimes/llamacpp/base/model.h"
#include "runtimes/llamacpp/base/run_options.h"
#include "runtimes/llamacpp/compute_buffers.h"

// How Ollama starts llama.cpp's server: what it makes of num_ctx,
// OLLAMA_NUM_PARALLEL and num_batch, as of fb3076099 (August 2026).
namespace vramfit::llamacpp {

/// Sets context and slots as Ollama does of what each slot is to have (llm/llama_server.go,
/// server/sched.go); nothing where nobody says that.
void start_as_ollama(ContextOptions& context, const Hparams& hparams);

/// num_batch where nobody says it: longer for a long context, where Ollama's own estimate leaves
/// room for it in what the devices have free. The estimate takes the file's size for the weights
/// (here, its tensors') and any cache for fp16 (server/sched.go: automaticGenerationBatch,
/// llm/llama_server.go: PredictServerVRAM).
std::int64_t ollamas_batch(const ContextOptions& context, const Model& model,
                           const std::vector<Device>& devices);

/// What of this is not as it was asked for, a line each.
std::vector<std::string> ollamas_cautions(const ContextOptions& context, const Hparams& hparams);

}  // namespace vramfit::llamacpp
