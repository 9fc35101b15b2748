#include "model/transformer/weights.h"

#include <algorithm>
#include <stdexcept>

#include "model/ops/elementary_ops.h"
#include "model/ops/quantize_ops.h"

namespace vramfit {
namespace {

Format format_of(const Precisions& precisions, Role role) {
  if (is_linear(role)) return precisions.linears;
  return role == Role::HeadWeight ? precisions.head : precisions.weights;
}

/// Fetches and quantises rows of `to`, a slab at a time.
void load_quantized(OpContext& context, Parameter& to, std::uint64_t number,
                    const ParameterSource& source) {
  const Shape& stored = to.value.stored();
  const std::int64_t width = stored[1];
  const std::int64_t rows = load_slab_rows(stored[0], width, context.precisions.weights);
  for (std::int64_t first = 0; first < stored[0]; first += rows) {
    const std::int64_t count = std::min(rows, stored[0] - first);
    const std::int64_t filled = std::clamp<std::int64_t>(to.value.shape()[0] - first, 0, count);
    Tensor slab(context.ledger, "load_slab", Category::Workspace, context.precisions.weights,
                {filled, width}, {count, width});
    source(context.device, {to.spec, number, first * width}, slab);
    context.device.run(Quantize{slab, to.value, to.scales ? &to.scales : nullptr, first});
  }
}

Parameter load(OpContext& context, const ParameterSpec& spec, bool trained, std::uint64_t number,
               const ParameterSource& source) {
  const Format format = format_of(context.precisions, spec.role);
  Parameter parameter{
      spec, trained, context.weight(spec.name, format, spec.shape, spec.stored), {}, {}};
  if (!is_quantized(format)) {
    source(context.device, {spec, number, 0}, parameter.value);
    return parameter;
  }
  if (has_row_scales(format)) {
    const Shape rows = {spec.stored[0]};
    parameter.scales = context.weight(spec.name.part("scales"), DType::Fp32, rows, rows);
  }
  load_quantized(context, parameter, number, source);
  return parameter;
}

}  // namespace

void draw_parameter(Device& device, const ParameterPart& part, Tensor& to) {
  const Initialization& start = part.spec.start;
  device.run(FillNormal{to, start.mean, start.deviation, part.number, part.first});
}

Weights::Weights(OpContext& context, const ModelConfig& config, const ParameterSource& source,
                 const Adapters& adapters) {
  std::array<int, kRoles> none{};
  none.fill(kAbsent);
  index_.assign(static_cast<std::size_t>(config.layers) + 1, none);
  std::vector<ParameterSpec> specs = parameter_specs(config);
  const std::size_t in_model = specs.size();
  const std::vector<ParameterSpec> more = adapters.parameters(config);
  specs.insert(specs.end(), more.begin(), more.end());
  parameters_.reserve(specs.size());
  for (const ParameterSpec& spec : specs) {
    const auto number = parameters_.size();
    const bool trained = adapters.none() || number >= in_model;
    index_[static_cast<std::size_t>(spec.layer + 1)][static_cast<std::size_t>(spec.role)] =
        static_cast<int>(number);
    parameters_.push_back(load(context, spec, trained, number, source));
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

std::vector<const Parameter*> Weights::trained() const {
  std::vector<const Parameter*> list;
  list.reserve(parameters_.size());
  for (const Parameter& parameter : parameters_) {
    if (parameter.trained) list.push_back(&parameter);
  }
  return list;
}

void Weights::free_gradients() {
  for (Parameter& parameter : parameters_) parameter.gradient.release();
}

const Tensor* Weights::scales(Role role, int layer) const {
  const Parameter& parameter = at(role, layer);
  return parameter.scales ? &parameter.scales : nullptr;
}

Role Weights::head_role() const {
  return optional_value(Role::HeadWeight) != nullptr ? Role::HeadWeight : Role::TokenEmbedding;
}

}  // namespace vramfit
