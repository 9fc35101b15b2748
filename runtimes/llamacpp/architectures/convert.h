#pragma once

#include <string>
#include <vector>

#include "model/gguf/metadata.h"
#include "runtimes/llamacpp/architectures/hf_config.h"
#include "runtimes/llamacpp/base/model.h"

namespace vramfit::llamacpp {

/// The key-value pairs that convert_hf_to_gguf writes of a config, those that memory depends on.
/// Throws UnknownModel, which lists what is known, where it is of no architecture of ours.
gguf::Metadata convert_config(const HfConfig& config);

/// The tensors that it writes of the config's checkpoint, without types.
std::vector<ModelTensor> converted_tensors(const HfConfig& config, const Hparams& hparams);

}  // namespace vramfit::llamacpp
