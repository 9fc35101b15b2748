#include "model/transformer/weights.h"

#include <stdexcept>

#include "model/ops/elementary_ops.h"

namespace vramfit {

Weights::Weights(OpContext& context, const ModelConfig& config) {
  std::array<int, kRoles> none{};
  none.fill(kAbsent);
  index_.assign(static_cast<std::size_t>(config.layers) + 1, none);
  const std::vector<ParameterSpec> specs = parameter_specs(config);
  parameters_.reserve(specs.size());
  for (const ParameterSpec& spec : specs) {
    const auto number = parameters_.size();
    index_[static_cast<std::size_t>(spec.layer + 1)][static_cast<std::size_t>(spec.role)] =
        static_cast<int>(number);
    parameters_.push_back({spec, context.weight(spec.name, spec.shape, spec.stored), {}});
    context.device.run(
        FillNormal{parameters_.back().value, spec.start.mean, spec.start.deviation, number});
  }
}

const Parameter& Weights::at(Role role, int layer) const {
  const int number = index_[static_cast<std::size_t>(layer + 1)][static_cast<std::size_t>(role)];
  if (number == kAbsent) throw std::logic_error("the model has no such parameter");
  return parameters_[static_cast<std::size_t>(number)];
}

const Tensor* Weights::optional_value(Role role, int layer) const {
  const int number = index_[static_cast<std::size_t>(layer + 1)][static_cast<std::size_t>(role)];
  return number == kAbsent ? nullptr : &parameters_[static_cast<std::size_t>(number)].value;
}

GradientTarget Weights::gradient(OpContext& context, Role role, int layer) {
  auto& parameter = const_cast<Parameter&>(at(role, layer));
  const bool there = static_cast<bool>(parameter.gradient);
  if (!there) {
    parameter.gradient =
        context.gradient(parameter.spec.name, parameter.spec.shape, parameter.spec.stored);
  }
  return {parameter.gradient, there};
}

void Weights::free_gradients() {
  for (Parameter& parameter : parameters_) parameter.gradient.release();
}

Role Weights::head_role() const {
  return optional_value(Role::HeadWeight) != nullptr ? Role::HeadWeight : Role::TokenEmbedding;
}

}  // namespace vramfit
