#pragma once

#include <cstdint>
#include <vector>

#include "model/config/model_config.h"
#include "model/memory/name.h"
#include "model/memory/tensor.h"

namespace vramfit {

/// What a parameter does. Weights are (out, in), so that y = x Wᵀ.
enum class Role : std::uint8_t {
  TokenEmbedding,     ///< (V, h)
  PositionEmbedding,  ///< (positions, h); learned positions only
  Norm1Weight,        ///< (h), before attention
  Norm1Bias,          ///< (h); LayerNorm only
  QkvWeight,          ///< ((a + 2k)·d, h): rows of q, then k, then v
  QkvBias,
  QNormWeight,  ///< (d) or (a·d), and so are the next three; qk_norm only
  QNormBias,
  KNormWeight,
  KNormBias,
  OutWeight,  ///< (h, a·d)
  OutBias,
  Norm2Weight,  ///< (h), before the MLP; absent where norm 1 serves both
  Norm2Bias,
  UpWeight,  ///< SwiGLU and GeGLU: (2f, h), rows of gate, then up; GELU: (f, h)
  UpBias,
  DownWeight,  ///< (h, f)
  DownBias,
  Norm1BehindWeight,  ///< (h), behind attention and MLP; blocks with norms around them only
  Norm2BehindWeight,
  FinalNormWeight,
  FinalNormBias,
  HeadWeight,  ///< (V, h); absent where it is tied to the token embedding
  HeadBias,    ///< (V)
  // Of adapters beside a projection, model/transformer/lora.h.
  QkvLoraA,  ///< (adapters · rank, h)
  QkvLoraB,  ///< (columns that are added to, rank)
  OutLoraA,
  OutLoraB,
  UpLoraA,
  UpLoraB,
  DownLoraA,
  DownLoraB,
};

inline constexpr std::size_t kRoles = 32;

/// Whether it is the weight of a block's projection, which formats of fewer bits are for.
constexpr bool is_linear(Role role) {
  return role == Role::QkvWeight || role == Role::OutWeight || role == Role::UpWeight ||
         role == Role::DownWeight;
}

/// How a parameter starts: normal with this deviation around this mean.
struct Initialization {
  float mean;
  float deviation;
};

/// One parameter, stated once: counts, sizes, the tensors themselves and the optimizer's states are
/// all derived from the list of these.
struct ParameterSpec {
  Role role;
  int layer;  ///< -1 outside the blocks
  Name name;
  Shape shape;
  Shape stored;  ///< with the padding rows below it
  bool decays;   ///< takes weight decay: matrices do, norms and biases do not
  Initialization start;
};

/// Rows of vocabulary tables are stored in multiples of this, as llm.c does, so that the head's
/// GEMM is aligned; gpt2's 50,257 are stored as 50,304. The padding rows are zero and stay zero.
inline constexpr std::int64_t kVocabRowMultiple = 128;
std::int64_t stored_vocab(const ModelConfig& config);

/// In the order of their allocation.
std::vector<ParameterSpec> parameter_specs(const ModelConfig& config);

/// As published: without padding, a tied head counted once.
std::int64_t parameter_count(const ModelConfig& config);

/// With padding.
std::int64_t stored_parameter_count(const ModelConfig& config);

}  // namespace vramfit
