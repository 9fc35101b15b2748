#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtimes/pytorch/torch/tensor/tensor.h"
#include "runtimes/pytorch/transformers/modules/settings.h"

namespace vramfit::pytorch {

/// What one of bitsandbytes' linears holds in place of a weight, and how it multiplies with it:
/// bitsandbytes/nn/modules.py (Linear8bitLt, Linear4bit), 0.50.2.
class QuantizedWeight {
 public:
  /// What PEFT's layer around it does otherwise than around a plain linear.
  struct Adapted {
    ScalarType type;  ///< that adapters are made in first
    bool clones;      ///< the product, before theirs is added
  };

  virtual ~QuantizedWeight() = default;
  virtual Adapted adapted() const = 0;
  /// The module's parameter. Only that of 4 bits is asked for: fully_shard takes no other.
  virtual Tensor parameter() const = 0;
  /// x W^T + b of (..., in). A bias of another type than the arithmetic's is cast for good.
  virtual Tensor forward(const Tensor& x, Tensor& bias) const = 0;
};

/// Of a linear's input, to LLM.int8().
struct OutlierStatistics {
  double chance = 0;  ///< of an element to be one
  /// Of how many columns hold one, among all linears: of each layer that this one is, or is played
  /// as, by number in the model that is played.
  std::vector<std::pair<std::int64_t, double>> quantiles;
  double highest = 0;   ///< of any linear's
  bool played = false;  ///< layers are played as others are: each takes what it has itself
};

/// Of an (out, in) weight on the GPU, as transformers quantises while it loads.
std::shared_ptr<const QuantizedWeight> quantize(const Quantization& quantization,
                                                const Tensor& weight,
                                                const OutlierStatistics& outliers);

}  // namespace vramfit::pytorch
