#pragma once

#include <string>
#include <vector>

#include "model/format.h"

namespace vramfit {

/// An optimizer, named after what it keeps for each parameter.
struct OptimizerKind {
  enum class Rule : std::uint8_t { Sgd, AdamW };
  const char* name;
  Rule rule;
  bool master;              ///< an fp32 copy of the weights, which takes the updates
  int moments;              ///< how many: SGD's momentum is 1, Adam's m and v are 2
  bool moments_as_weights;  ///< moments as weights are stored rather than in fp32

  Format moment_format(Format weights) const {
    return moments_as_weights ? weights : accumulation_dtype(weights);
  }
  /// Bytes of state a parameter.
  std::uint64_t state_bytes(Format weights) const {
    return (master ? 4U : 0U) +
           static_cast<std::uint64_t>(moments) * moment_format(weights).bytes(1);
  }
};

/// In the order tables show them.
const std::vector<OptimizerKind>& optimizer_kinds();

/// Throws BadInput on an unknown name.
const OptimizerKind& optimizer_named(const std::string& name);

/// Throws BadInput where the two do not go together: masters of weights that are fp32 already.
void require_precision(const OptimizerKind& kind, Format weights);

/// AdamW: Loshchilov and Hutter 2019, with bias correction. SGD with momentum as PyTorch's: the
/// velocity starts as the first gradient, without dampening.
struct OptimizerSettings {
  float learning_rate = 1e-4F;
  float beta1 = 0.9F;
  float beta2 = 0.95F;
  float eps = 1e-8F;
  float weight_decay = 0.1F;  ///< AdamW only, decoupled; matrices only
  float momentum = 0.9F;
};

}  // namespace vramfit
