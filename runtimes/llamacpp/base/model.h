#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/gguf/tensor.h"
#include "runtimes/llamacpp/base/hparams.h"

namespace vramfit::llamacpp {

/// A tensor of a GGUF file. Its first dimension is the contiguous one, as ggml counts them.
using ModelTensor = gguf::Tensor;

/// What a GGUF file holds, read or derived from a config and a recipe; in the file's order.
struct Model {
  Hparams hparams;
  std::vector<ModelTensor> tensors;
  std::vector<std::size_t> files = {0};  ///< the first tensor of each that it is split into
  std::uint64_t alignment = 32;          ///< of each tensor's data in its file, bytes
  std::uint64_t missing_bytes = 0;       ///< of tensors' data, what the files end before. Bytes
  /// A checkpoint's experts are in MXFP4, and stay so in every recipe: llama-quantize requantises
  /// nothing.
  bool mxfp4_experts = false;

  /// Null where there is none.
  const ModelTensor* find(const std::string& name) const;
};

}  // namespace vramfit::llamacpp
