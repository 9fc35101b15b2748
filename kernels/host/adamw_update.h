#pragma once

#include <cstdint>

#include "model/format.h"
#include "model/optimizer/optimizer_kind.h"

namespace vramfit {

/// What all elements of a step have in common.
struct HostStep {
  OptimizerSettings settings;
  float inverse_scale;  ///< of the gradients; 1 without a loss scale
  float correction1;    ///< 1 − β1^step
  float correction2;    ///< 1 − β2^step
  bool first;           ///< m and v are not there yet
  bool skips;           ///< gradients are not finite: nothing is updated

  HostStep(const OptimizerSettings& settings_, int step);
};

/// Elements of one parameter, side by side in the host's memory: weights and gradients in one
/// format, fp32 or of 16 bits, m and v in fp32.
struct HostElements {
  void* weights;
  const void* gradients;
  float* momentum;
  float* variance;
  std::int64_t count;
  bool decays;

  /// `count_` of them from `first` on.
  HostElements part(Format format, std::int64_t first, std::int64_t count_) const;
};

/// AdamW as OptimizerStep says, on one thread. Throws nothing but of another format.
void adamw_on_host(const HostStep& step, Format format, const HostElements& elements);

}  // namespace vramfit
