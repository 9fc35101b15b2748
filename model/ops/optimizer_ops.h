#pragma once

#include <cstdint>
#include <vector>

#include "model/memory/tensor.h"
#include "model/ops/host_slots.h"
#include "model/optimizer/optimizer_kind.h"

namespace vramfit {

/// One parameter's share of a step. Null: the optimizer does not keep it.
struct ParameterUpdate {
  const Tensor* parameter;
  const Tensor* gradient;
  const Tensor* master;    ///< fp32
  const Tensor* momentum;  ///< SGD's velocity, Adam's m or Lion's
  const Tensor* variance;  ///< Adam's v or Adafactor's, of variance_shape
  bool decays;
  /// Where moments are codes: (moments, blocks of kDynamicBlock elements), fp32; of momentum
  /// SignedCodes, of variance UnsignedCodes.
  const Tensor* scales = nullptr;
};

/// Whether the optimizer keeps of a parameter's v but the means of its columns and rows.
inline bool is_factored(const OptimizerKind& kind, const Shape& parameter) {
  return kind.stored == OptimizerKind::Stored::Factors && parameter.rank() == 2;
}

/// Of the tensor that holds a parameter's v. Where it is factored: the means of its columns, then
/// those of its rows, with the padding rows' behind them.
inline Shape variance_shape(const OptimizerKind& kind, const Shape& parameter) {
  return is_factored(kind, parameter) ? Shape{parameter[1] + parameter[0]} : parameter;
}

/// The slots through which such updates pass where the host makes them.
HostSlots host_slots(const std::vector<ParameterUpdate>& updates);

/// fp16's dynamic loss scale (Micikevicius et al. 2018), kept on the device so that no host
/// decision depends on data: three fp32 values in one tensor.
struct LossScale {
  static constexpr std::int64_t kScale = 0;      ///< multiplies the loss
  static constexpr std::int64_t kGoodSteps = 1;  ///< finite steps since it last changed
  static constexpr std::int64_t kOverflow = 2;   ///< not 0: this step's gradients are not finite
  static constexpr std::int64_t kValues = 3;
  static constexpr float kInitial = 65536.0F;
  static constexpr float kGrowthInterval = 2000.0F;  ///< good steps before it doubles
};

/// Sets the scaler's kOverflow to 1 where an element of some update's gradient is not finite, else
/// to 0: what every rank finds out of its own part before any takes a step.
struct FindOverflow {
  const OptimizerKind& kind;
  const std::vector<ParameterUpdate>& updates;
  const Tensor& scaler;
  Tensor& table;  ///< optimizer_table_bytes
};

/// All parameters at once. With a scaler: gradients are divided by the scale; where one of them is
/// not finite nothing is updated and the scale halves, and after kGrowthInterval good steps it
/// doubles. Masters, at the first step, start as copies of the parameters; the other states at 0,
/// and so even where that step's gradients are not finite. The step is taken from moments as they
/// are computed, before they are rounded to what they are stored in; codes are the nearest. What
/// Adafactor divides by is at least the epsilon of what v is stored in.
struct OptimizerStep {
  const OptimizerKind& kind;
  const OptimizerSettings& settings;
  const std::vector<ParameterUpdate>& updates;
  int step;                      ///< from 1; the first initializes the states
  const Tensor* scaler;          ///< null: gradients are not scaled
  Tensor& table;                 ///< optimizer_table_bytes
  const Tensor* sums = nullptr;  ///< factor_sums_bytes; null where those are 0
  /// host_slots_bytes, in the host's memory as the states are; null where those are 0.
  const Tensor* slots = nullptr;
  /// Whether the scaler's kOverflow says already that gradients are not finite, here or elsewhere.
  bool overflow_found = false;
};

}  // namespace vramfit
