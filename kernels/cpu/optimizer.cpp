#include <cmath>

#include "kernels/cpu/coded_update.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/factored_update.h"
#include "kernels/cpu/matrix.h"
#include "kernels/cpu/optimizer_rules.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

/// One parameter, padding included: it is zero, has no gradient and stays zero.
template <typename Element, typename Moment>
class Update {
  using Sum = Accumulator<Element>;

 public:
  Update(const OptimizerStep& op, const ParameterUpdate& update)
      : op_(op),
        count_(update.parameter->stored().elements()),
        decays_(update.decays),
        parameter_(output<Element>(*update.parameter, count_)),
        gradient_(input<Element>(*update.gradient, count_)),
        master_(output<float>(update.master, count_)),
        momentum_(output<Moment>(update.momentum, count_)),
        variance_(output<Moment>(update.variance, count_)) {
    require((master_ != nullptr) == op.kind.master &&
                (momentum_ != nullptr) == op.kind.keeps_momentum() &&
                (variance_ != nullptr) == op.kind.keeps_variance(),
            "an update has other states than its optimizer keeps");
  }

  void initialize() const {
    for (std::int64_t i = 0; i < count_; ++i) {
      if (master_ != nullptr) master_[i] = static_cast<float>(parameter_[i]);
      if (momentum_ != nullptr) momentum_[i] = Moment{};
      if (variance_ != nullptr) variance_[i] = Moment{};
    }
  }

  void take_step(const StepFactors<Sum>& factors) const {
    for (std::int64_t i = 0; i < count_; ++i) {
      ElementUpdate<Sum> e = load(i);
      update(op_.kind, op_.settings, factors, decays_, e);
      keep(i, e);
    }
  }

 private:
  ElementUpdate<Sum> load(std::int64_t i) const {
    return {master_ != nullptr ? static_cast<Sum>(master_[i]) : static_cast<Sum>(parameter_[i]),
            momentum_ != nullptr ? static_cast<Sum>(momentum_[i]) : Sum{0},
            variance_ != nullptr ? static_cast<Sum>(variance_[i]) : Sum{0},
            static_cast<Sum>(gradient_[i])};
  }

  void keep(std::int64_t i, const ElementUpdate<Sum>& e) const {
    if (master_ != nullptr) master_[i] = static_cast<float>(e.weight);
    if (momentum_ != nullptr) momentum_[i] = static_cast<Moment>(e.momentum);
    if (variance_ != nullptr) variance_[i] = static_cast<Moment>(e.variance);
    parameter_[i] = static_cast<Element>(e.weight);
  }

  const OptimizerStep& op_;
  const std::int64_t count_;
  const bool decays_;
  Element* parameter_;
  const Element* gradient_;
  float* master_;
  Moment* momentum_;
  Moment* variance_;
};

template <typename Element>
bool all_finite(const std::vector<ParameterUpdate>& updates) {
  for (const ParameterUpdate& update : updates) {
    const std::int64_t count = update.gradient->stored().elements();
    const Element* gradient = input<Element>(*update.gradient, count);
    for (std::int64_t i = 0; i < count; ++i) {
      if (!std::isfinite(static_cast<Accumulator<Element>>(gradient[i]))) return false;
    }
  }
  return true;
}

/// Halves the loss scale after gradients that are not finite, doubles it after enough finite ones.
void adjust(float* scaler, bool finite) {
  scaler[LossScale::kOverflow] = finite ? 0.0F : 1.0F;
  scaler[LossScale::kGoodSteps] = finite ? scaler[LossScale::kGoodSteps] + 1.0F : 0.0F;
  if (!finite) scaler[LossScale::kScale] *= 0.5F;
  if (scaler[LossScale::kGoodSteps] >= LossScale::kGrowthInterval) {
    scaler[LossScale::kScale] *= 2.0F;
    scaler[LossScale::kGoodSteps] = 0.0F;
  }
}

template <typename Element, typename AnUpdate>
void step(const OptimizerStep& op) {
  using Sum = Accumulator<Element>;
  require_workspace(op.table, optimizer_table_bytes(op.updates));
  const std::uint64_t sums = factor_sums_bytes(op.kind, op.updates);
  require((op.sums != nullptr) == (sums > 0), "sums are a factored step's");
  if (op.sums != nullptr) require_workspace(*op.sums, sums);
  require((op.slots != nullptr) == op.kind.on_host, "slots are of updates that the host takes");
  if (op.slots != nullptr) require_workspace(*op.slots, host_slots_bytes(op.kind, op.updates));
  float* scaler = output<float>(op.scaler, LossScale::kValues);
  const bool finite = scaler == nullptr || (op.overflow_found ? scaler[LossScale::kOverflow] == 0
                                                              : all_finite<Element>(op.updates));
  const StepFactors<Sum> factors = {
      scaler == nullptr ? Sum{1} : 1 / static_cast<Sum>(scaler[LossScale::kScale]),
      static_cast<Sum>(1 - std::pow(double{op.settings.beta1}, op.step)),
      static_cast<Sum>(1 - std::pow(double{op.settings.beta2}, op.step))};
  for (const ParameterUpdate& parameter : op.updates) {
    const AnUpdate update(op, parameter);
    if (op.step == 1) update.initialize();
    if (finite) update.take_step(factors);
  }
  if (scaler != nullptr) adjust(scaler, finite);
}

}  // namespace

void CpuDevice::run(const FindOverflow& op) {
  require_workspace(op.table, optimizer_table_bytes(op.updates));
  auto* scaler = output<float>(op.scaler, LossScale::kValues);
  bool finite = true;
  if (!op.updates.empty()) {
    with_element(op.updates.front().gradient->format(),
                 [&](auto e) { finite = all_finite<decltype(e)>(op.updates); });
  }
  scaler[LossScale::kOverflow] = finite ? 0.0F : 1.0F;
}

void CpuDevice::run(const OptimizerStep& op) {
  if (op.updates.empty()) return;
  with_element(op.updates.front().parameter->format(), [&op](auto e) {
    using Element = decltype(e);
    switch (op.kind.stored) {
      case OptimizerKind::Stored::AsSums:
        return step<Element, Update<Element, Accumulator<Element>>>(op);
      case OptimizerKind::Stored::AsWeights:
        return step<Element, Update<Element, Element>>(op);
      case OptimizerKind::Stored::Codes:
        return step<Element, CodedUpdate<Element>>(op);
      case OptimizerKind::Stored::Factors:
        return step<Element, FactoredUpdate<Element>>(op);
    }
  });
}

}  // namespace vramfit
