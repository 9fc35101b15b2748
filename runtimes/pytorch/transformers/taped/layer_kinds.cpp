#include "runtimes/pytorch/transformers/taped/layer_kinds.h"

namespace vramfit::pytorch {

std::vector<std::string> layer_kinds(const OpTape& tape, const ConfigKeys&, std::int64_t layers) {
  return std::vector<std::string>(static_cast<std::size_t>(layers), tape.kinds.front());
}

}  // namespace vramfit::pytorch
