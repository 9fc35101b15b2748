#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/format.h"
#include "runtimes/llamacpp/hparams.h"

namespace vramfit::llamacpp {

/// A tensor of a GGUF file. Its first dimension is the contiguous one, as ggml counts them.
struct ModelTensor {
  std::string name;  ///< "blk.0.attn_q.weight"
  std::array<std::int64_t, 4> ne = {1, 1, 1, 1};
  Format type;
};

/// What a GGUF file holds, read or derived from a config and a recipe; in the file's order.
struct Model {
  Hparams hparams;
  std::vector<ModelTensor> tensors;

  const ModelTensor* find(const std::string& name) const;
};

}  // namespace vramfit::llamacpp
