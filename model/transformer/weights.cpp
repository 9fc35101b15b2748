#include "model/transformer/weights.h"

#include <algorithm>
#include <stdexcept>

#include "model/ops/elementary_ops.h"
#include "model/ops/quantize_ops.h"
#include "model/parallel/pipeline.h"

namespace vramfit {
namespace {

Format format_of(const Precisions& precisions, Role role) {
  if (is_linear(role)) return precisions.linears;
  return role == Role::HeadWeight ? precisions.head : precisions.weights;
}

/// Some rows of a parameter, and where they go.
struct Rows {
  const ParameterSpec& spec;
  std::uint64_t number;
  std::int64_t first;  ///< row of the parameter
  Tensor& value;       ///< as many rows as it stores
  Tensor* scales;      ///< null where the format has none of its own
};

/// Fetches and quantises them, a slab at a time.
void load_quantized(OpContext& context, const Rows& to, const ParameterSource& source) {
  const Shape& stored = to.value.stored();
  const std::int64_t width = stored[1];
  const std::int64_t rows = load_slab_rows(stored[0], width, context.precisions.weights);
  for (std::int64_t first = 0; first < stored[0]; first += rows) {
    const std::int64_t count = std::min(rows, stored[0] - first);
    const std::int64_t filled = filled_rows(to.spec.shape, to.first + first, count);
    Tensor slab(context.ledger, "load_slab", Category::Workspace, context.precisions.weights,
                {filled, width}, {count, width});
    source(context.device, {to.spec, to.number, (to.first + first) * width}, slab);
    context.device.run(Quantize{slab, to.value, to.scales, first});
  }
}

void load(OpContext& context, const Rows& to, const ParameterSource& source) {
  if (is_quantized(to.value.format())) return load_quantized(context, to, source);
  source(context.device, {to.spec, to.number, to.first * row_elements(to.value.stored())},
         to.value);
}

Name scales_name(const ParameterSpec& spec) { return spec.name.part("scales"); }

/// One that every rank has alone, or all have alike.
Parameter whole(OpContext& context, const ParameterSpec& spec, bool trained, Format format) {
  Parameter parameter{spec, trained, context.weight(spec.name, format, spec.shape, spec.stored),
                      {},   {},      {}};
  if (has_row_scales(format)) {
    const Shape rows = {spec.stored[0]};
    parameter.scales = context.weight(scales_name(spec), DType::Fp32, rows, rows);
  }
  return parameter;
}

/// One whose states ranks cut, and perhaps the rest of it.
Parameter cut(OpContext& context, const ParameterSpec& spec, bool trained, Format format,
              const Mesh& mesh) {
  Parameter parameter{spec, trained, {},
                      {},   {},      ShardStorage{shard_of(spec.stored, mesh), {}, {}, {}}};
  ShardStorage& storage = *parameter.storage;
  if (mesh.shards_parameters()) {
    const std::int64_t rows = storage.shard.part[0];
    const std::int64_t filled = filled_rows(spec.shape, storage.shard.first, rows);
    storage.value =
        context.weight(spec.name, format, with_rows(spec.shape, filled), storage.shard.part);
    if (has_row_scales(format)) {
      storage.scales = context.weight(scales_name(spec), DType::Fp32, {rows}, {rows});
    }
    return parameter;
  }
  storage.value = context.weight(spec.name, format, spec.shape, storage.shard.whole);
  parameter.value = Tensor::view(storage.value, 0, spec.name, Category::Parameters, format,
                                 spec.shape, spec.stored);
  return parameter;
}

Parameter load(OpContext& context, const ParameterSpec& spec, bool trained, std::uint64_t number,
               const ParameterSource& source, const Mesh& mesh) {
  const Format format = format_of(context.precisions, spec.role);
  // What is frozen has no states to cut.
  const bool is_cut = trained ? mesh.shards_states() : mesh.shards_parameters();
  Parameter parameter =
      is_cut ? cut(context, spec, trained, format, mesh) : whole(context, spec, trained, format);
  Tensor& value = is_cut ? parameter.storage->value : parameter.value;
  Tensor& scales = is_cut ? parameter.storage->scales : parameter.scales;
  const bool part = is_cut && mesh.shards_parameters();
  load(context,
       {spec, number, part ? parameter.storage->shard.first : 0, value, scales ? &scales : nullptr},
       source);
  return parameter;
}

/// A tied head's weight is the first stage's and the last one's.
bool has(const PipelineStage& stage, const ParameterSpec& spec, bool tied_head) {
  if (spec.layer >= 0) return spec.layer >= stage.first && spec.layer < stage.end;
  if (spec.role == Role::TokenEmbedding) return stage.embeds || (stage.has_head && tied_head);
  return spec.role == Role::PositionEmbedding ? stage.embeds : stage.has_head;
}

Tensor all_of(const Tensor& tensor) {
  return Tensor::view(tensor, 0, tensor.name(), tensor.category(), tensor.format(), tensor.shape(),
                      tensor.stored());
}

}  // namespace

Tensor Parameter::own_value() const {
  return storage ? own_part(storage->value, storage->shard) : all_of(value);
}

Tensor Parameter::own_gradient() const {
  return storage ? own_part(storage->gradient, storage->shard) : all_of(gradient);
}

void draw_parameter(Device& device, const ParameterPart& part, Tensor& to) {
  const Initialization& start = part.spec.start;
  device.run(FillNormal{to, start.mean, start.deviation, part.number, part.first});
}

Weights::Weights(OpContext& context, const ModelConfig& config, const ParameterSource& source,
                 const Adapters& adapters, const Mesh& mesh) {
  std::array<int, kRoles> none{};
  none.fill(kAbsent);
  index_.assign(static_cast<std::size_t>(config.layers) + 1, none);
  std::vector<ParameterSpec> specs = parameter_specs(config);
  const std::size_t in_model = specs.size();
  const std::vector<ParameterSpec> more = adapters.parameters(config);
  specs.insert(specs.end(), more.begin(), more.end());
  const PipelineStage stage = stage_of(mesh, config.layers);
  parameters_.reserve(specs.size());
  for (std::size_t number = 0; number < specs.size(); ++number) {
    const ParameterSpec& spec = specs[number];
    if (!has(stage, spec, config.tied_head)) continue;
    const bool trained = adapters.none() || number >= in_model;
    index_[static_cast<std::size_t>(spec.layer + 1)][static_cast<std::size_t>(spec.role)] =
        static_cast<int>(parameters_.size());
    parameters_.push_back(load(context, spec, trained, number, source, mesh));
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
        gradient_source_
            ? gradient_source_(parameter)
            : context.gradient(parameter.spec.name, parameter.spec.shape, parameter.spec.stored);
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
  for (Parameter& parameter : parameters_) {
    parameter.gradient.release();
    if (parameter.storage) parameter.storage->gradient.release();
  }
}

const Tensor* Weights::scales(Role role, int layer) const {
  const Parameter& parameter = at(role, layer);
  return parameter.scales ? &parameter.scales : nullptr;
}

Role Weights::head_role() const {
  return optional_value(Role::HeadWeight) != nullptr ? Role::HeadWeight : Role::TokenEmbedding;
}

}  // namespace vramfit
