#pragma once

#include <string>
#include <vector>

#include "model/format.h"
#include "model/memory/allocator.h"

namespace vramfit {

/// An optimizer, named after what it keeps for each parameter.
struct OptimizerKind {
  enum class Rule : std::uint8_t { Sgd, AdamW, Lion, Adafactor };
  enum class Stored : std::uint8_t {
    AsSums,     ///< in fp32, of fp64 weights in fp64
    AsWeights,  ///< in what weights are stored in
    Codes,      ///< in 8 bits: SignedCodes, UnsignedCodes, a scale a block
    Factors,    ///< as sums; of matrices the means of their columns and rows
  };
  const char* name;
  const char* title;  ///< as forms have it
  Rule rule;
  bool master;  ///< an fp32 copy of the weights, which takes the updates
  int moments;  ///< how many: SGD's momentum, Lion's and Adafactor's v are 1, Adam's m and v 2
  Stored stored = Stored::AsSums;
  /// States are in the host's memory, and the host updates them (Ren et al. 2021, "ZeRO-Offload").
  bool on_host = false;

  Format moment_format(Format weights) const;
  bool keeps_momentum() const { return rule != Rule::Adafactor && moments >= 1; }
  bool keeps_variance() const { return rule == Rule::Adafactor || moments >= 2; }
  /// Whether moments are codes, with scales in a tensor beside them.
  bool has_scales() const { return stored == Stored::Codes; }
  MemorySpace space() const { return on_host ? MemorySpace::Host : MemorySpace::Device; }
};

/// In the order tables show them.
const std::vector<OptimizerKind>& optimizer_kinds();

/// "sgd, sgd-master, …"
std::string optimizer_names();

/// Throws BadInput on an unknown name.
const OptimizerKind& optimizer_named(const std::string& name);

/// Throws BadInput where the two do not go together: masters of weights that are fp32 already.
void require_precision(const OptimizerKind& kind, Format weights);

/// AdamW: Loshchilov and Hutter 2019, with bias correction. Lion: Chen et al. 2023. SGD with
/// momentum as PyTorch's: the velocity starts as the first gradient, without dampening. Adafactor:
/// Shazeer and Stern 2018, as torch.optim.Adafactor has it (PyTorch 2.11).
struct OptimizerSettings {
  float learning_rate = 1e-4F;
  float beta1 = 0.9F;
  float beta2 = 0.95F;
  float eps = 1e-8F;
  float weight_decay = 0.1F;  ///< all but SGD, decoupled; matrices only
  float momentum = 0.9F;
  // Adafactor's. A step is relative to its parameter's RMS, by 1 / √step, at most learning_rate.
  float beta2_decay = -0.8F;  ///< 1 − β2 is step to this power
  float least_rms = 1e-3F;    ///< ε2: what a parameter's RMS counts as at least
  float clipping = 1.0F;      ///< d: the largest RMS of an update
};

}  // namespace vramfit
