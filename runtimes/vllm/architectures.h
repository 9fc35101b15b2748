#pragma once

#include <cstdint>
#include <string_view>

#include "runtimes/vllm/shape.h"

namespace vramfit::vllm {

/// A class of vLLM's, and how its code differs from llama's.
struct Architecture {
  std::string_view name;
  bool gated = true;
  bool biased = false;    ///< every linear has a bias
  bool qkv_bias = false;  ///< where the config does not say
  bool out_bias = false;
  bool out_bias_too = false;  ///< attention_bias is of what comes out of it, too
  bool head_bias = false;
  bool norm_bias = false;
  QkNorm qk_norm = QkNorm::None;
  bool may_norm = false;  ///< queries and keys, where use_qk_norm says so
  double rotated = 1;     ///< of a head, where the config does not say
  bool experts = false;
  bool router_in_fp32 = false;
  bool router_stored = false;  ///< as other products are
  bool tied = false;           ///< where the config does not say
  std::int64_t pattern = 0;    ///< the same: each so-manieth layer looks at everything
  std::int64_t norms = 2;
  std::int64_t outlived = 0;
  std::int64_t outlived_attending = 0;
  bool sums_elsewhere = false;
  bool hands_on = false;         ///< a layer what it projected, until the next one is done
  bool by_transformers = false;  ///< its own code, but for products, norms and attention
  bool fused = false;
  bool frees_up = false;
  Adapted adapted = Adapted::Products;
  bool second_runner = false;       ///< DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES
  Mixing recurrent = Mixing::None;  ///< in its layers that keep a state
  bool state_in_each = false;       ///< beside its attention
  bool one_each = false;            ///< a layer attends, keeps a state or is an MLP
  bool rotates = true;
  bool matrices_in_fp32 = false;  ///< of states, where neither argument nor config says
  bool gated_attention = false;
  bool shared_gate = false;  ///< the expert that every token passes has a weight of its own
};

/// Of a reader's families, the class.
struct Family {
  std::string_view type;
  std::string_view architecture;
};

/// Null: not known here.
const Architecture* architecture_named(std::string_view name);
/// The last release that ran such a class; empty: later ones do, too
/// (_PREVIOUSLY_SUPPORTED_MODELS).
std::string_view last_release_of(std::string_view name);
/// Of a class of EAGLE's heads, the one that its layers are of.
const Architecture* layers_of_head(std::string_view name);
const Family* family_of(std::string_view type);

}  // namespace vramfit::vllm
