#pragma once

#include "model/gguf/metadata.h"
#include "runtimes/llamacpp/base/hparams.h"

namespace vramfit::llamacpp {

/// What llama.cpp knows of a model by its file's key-value pairs: llama_model_base::load_hparams.
/// Throws BadInput where they are wrong, or of an architecture that is not among ours.
Hparams read_hparams(const gguf::Metadata& metadata);

}  // namespace vramfit::llamacpp
