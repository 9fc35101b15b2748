#include "model/transformer/optimizer.h"

#include <utility>

#include "model/optimizer/dynamic_codes.h"

namespace vramfit {

void Optimizer::create_states(OpContext& context, const Weights& weights) {
  for (const Parameter* p : weights.trained()) {
    const ParameterSpec& spec = p->spec;
    State s;
    if (kind_.master) {
      s.master = context.master_weight(spec.name.part("master"), spec.shape, spec.stored);
    }
    if (kind_.keeps_momentum()) {
      s.momentum = context.moment(spec.name.part("m"), spec.shape, spec.stored);
    }
    if (kind_.keeps_variance()) {
      s.variance = context.moment(spec.name.part("v"), variance_shape(kind_, spec.shape),
                                  variance_shape(kind_, spec.stored));
    }
    if (kind_.has_scales()) {
      const std::int64_t blocks = (spec.stored.elements() + kDynamicBlock - 1) / kDynamicBlock;
      s.scales = context.moment_scales(spec.name.part("scales"), {kind_.moments, blocks});
    }
    states_.push_back(std::move(s));
  }
}

void Optimizer::step(OpContext& context, const Weights& weights, const Tensor* scaler, int step) {
  if (states_.empty()) create_states(context, weights);
  const auto or_null = [](const Tensor& tensor) { return tensor ? &tensor : nullptr; };
  const std::vector<const Parameter*> trained = weights.trained();
  std::vector<ParameterUpdate> updates;
  updates.reserve(trained.size());
  for (std::size_t i = 0; i < trained.size(); ++i) {
    const Parameter& p = *trained[i];
    const State& s = states_[i];
    updates.push_back({&p.value, &p.gradient, or_null(s.master), or_null(s.momentum),
                       or_null(s.variance), p.spec.decays, or_null(s.scales)});
  }
  Tensor table = context.bytes("optimizer_table", optimizer_workspace_bytes(kind_, updates));
  context.device.run(OptimizerStep{kind_, settings_, updates, step, scaler, table});
}

}  // namespace vramfit
