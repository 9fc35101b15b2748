#pragma once

#include <filesystem>
#include <string>

#include "model/gguf/file.h"
#include "runtimes/llamacpp/architectures/hf_config.h"
#include "runtimes/llamacpp/base/model.h"

namespace vramfit::llamacpp {

/// What a GGUF file holds.
Model model_of(gguf::File file);

/// What convert_hf_to_gguf makes of a config's checkpoint. Tensors have no types yet: those are the
/// recipe's to give.
Model model_of(const HfConfig& config);

}  // namespace vramfit::llamacpp
