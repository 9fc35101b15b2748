#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtimes/llamacpp/base/hparams.h"
#include "runtimes/llamacpp/base/run_options.h"

// How Ollama starts llama.cpp's server: what it makes of num_ctx and OLLAMA_NUM_PARALLEL.
namespace vramfit::llamacpp {

/// Sets context and slots as Ollama does of what each slot is to have (llm/llama_server.go,
/// server/sched.go); nothing where nobody says that.
void start_as_ollama(ContextOptions& context, const Hparams& hparams);

/// What of this is not as it was asked for, a line each.
std::vector<std::string> ollamas_cautions(const ContextOptions& context, const Hparams& hparams);

}  // namespace vramfit::llamacpp
