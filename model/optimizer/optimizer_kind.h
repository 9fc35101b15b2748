#pragma once

#include <string>
#include <vector>

#include "model/format.h"

namespace vramfit {

/// An optimizer, named after what it keeps for each parameter.
struct OptimizerKind {
  enum class Rule : std::uint8_t { Sgd, AdamW, Lion };
  enum class Stored : std::uint8_t {
    AsSums,     ///< in fp32, of fp64 weights in fp64
    AsWeights,  ///< in what weights are stored in
    Codes,      ///< in 8 bits: SignedCodes, UnsignedCodes, a scale a block
  };
  const char* name;
  Rule rule;
  bool master;  ///< an fp32 copy of the weights, which takes the updates
  int moments;  ///< how many: SGD's momentum and Lion's are 1, Adam's m and v are 2
  Stored stored = Stored::AsSums;

  Format moment_format(Format weights) const;
  /// Whether moments are codes, with scales in a tensor beside them.
  bool has_scales() const { return stored == Stored::Codes; }
};

/// In the order tables show them.
const std::vector<OptimizerKind>& optimizer_kinds();

/// Throws BadInput on an unknown name.
const OptimizerKind& optimizer_named(const std::string& name);

/// Throws BadInput where the two do not go together: masters of weights that are fp32 already.
void require_precision(const OptimizerKind& kind, Format weights);

/// AdamW: Loshchilov and Hutter 2019, with bias correction. Lion: Chen et al. 2023. SGD with
/// momentum as PyTorch's: the velocity starts as the first gradient, without dampening.
struct OptimizerSettings {
  float learning_rate = 1e-4F;
  float beta1 = 0.9F;
  float beta2 = 0.95F;
  float eps = 1e-8F;
  float weight_decay = 0.1F;  ///< AdamW and Lion, decoupled; matrices only
  float momentum = 0.9F;
};

}  // namespace vramfit
