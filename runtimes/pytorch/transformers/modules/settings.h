#pragma once

#include <cstdint>
#include <optional>

#include "runtimes/pytorch/torch/tensor/scalar_type.h"

namespace vramfit::pytorch {

/// attn_implementation.
enum class AttentionKind : std::uint8_t { Sdpa, Eager };

/// Whether every layer's activations are computed again in backward.
enum class GradientCheckpointing : std::uint8_t {
  None,
  Full,       ///< use_reentrant=False, transformers' default
  Reentrant,  ///< use_reentrant=True, PEFT's where none is given
};

/// bitsandbytes' formats of weights, as transformers' BitsAndBytesConfig chooses among them.
struct Quantization {
  enum class Format : std::uint8_t { Int8, Nf4, Fp4 };
  Format format = Format::Int8;
  bool double_quant = false;               ///< bnb_4bit_use_double_quant
  ScalarType compute = ScalarType::Float;  ///< bnb_4bit_compute_dtype
  ScalarType storage = ScalarType::Byte;   ///< bnb_4bit_quant_storage: what FSDP2 takes is floating
};

/// from_pretrained's arguments; without them a model is built on the GPU from its config.
struct Pretrained {
  bool auto_device_map = false;  ///< device_map: "auto", or all of it on the GPU
  std::optional<Quantization> quantization;
  std::int64_t tp = 1;  ///< tp_plan="auto" over so many GPUs, in place of a device_map
  // With device_map="auto":
  int gpus = 1;
  int gpu = 0;  ///< which of them is looked at
};

/// In LLM.int8() each layer has outliers of its own, and keeps those of one forward until the next.
inline bool keeps_outliers(const std::optional<Pretrained>& pretrained) {
  return pretrained && pretrained->quantization &&
         pretrained->quantization->format == Quantization::Format::Int8;
}

}  // namespace vramfit::pytorch
