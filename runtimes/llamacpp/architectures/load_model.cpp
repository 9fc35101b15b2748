#include "runtimes/llamacpp/architectures/load_model.h"

#include <utility>

#include "runtimes/llamacpp/architectures/convert.h"
#include "runtimes/llamacpp/architectures/read_hparams.h"

namespace vramfit::llamacpp {

Model model_of(gguf::File file) {
  Hparams hparams = read_hparams(file.metadata);
  return {std::move(hparams), std::move(file.tensors), std::move(file.files), file.alignment,
          file.missing_bytes};
}

Model model_of(const HfConfig& config) {
  Hparams hparams = read_hparams(convert_config(config));
  std::vector<ModelTensor> tensors = converted_tensors(config, hparams);
  return {std::move(hparams), std::move(tensors), {0}, 32, 0, config.mxfp4()};
}

}  // namespace vramfit::llamacpp
