#include "model/transformer/norm.h"

#include "model/transformer/codes.h"

namespace vramfit {

Tensor normalize(Model& model, const Norm& norm, const Name& name, const Tensor& x,
                 NormStatistics* keep, Tensor* largest) {
  OpContext& context = model.context;
  const ModelConfig& config = model.config;
  Tensor y = context.activation(name, x.shape());
  const bool has_mean = config.norm == NormKind::LayerNorm;
  if (keep != nullptr) {
    keep->rstd = context.statistics({"rstd", norm.layer}, {x.shape()[0]});
    if (has_mean) keep->mean = context.statistics({"mean", norm.layer}, {x.shape()[0]});
  }
  context.device.run(NormForward{config.norm, config.norm_eps, x,
                                 model.weights.value(norm.weight, norm.layer),
                                 model.weights.optional_value(norm.bias, norm.layer), y,
                                 keep != nullptr ? &keep->rstd : nullptr,
                                 keep != nullptr && has_mean ? &keep->mean : nullptr, largest});
  return y;
}

NormedInput::NormedInput(Model& model, const Norm& norm, const Projection& linear, const Name& name,
                         const Tensor& x, NormStatistics* keep, const CodeScales* scales)
    : x_(x) {
  const bool by_linear = keep == nullptr && model.adapters.none() &&
                         x.shape()[0] <= normed_rows(quantizes_input(model, linear));
  if (!by_linear) {
    Tensor largest;
    if (scales != nullptr) largest = scales->of(linear.weight, Operand::Input);
    normed_ = normalize(model, norm, name, x, keep, largest ? &largest : nullptr);
  } else {
    norm_.emplace(InputNorm{model.config.norm, model.config.norm_eps,
                            model.weights.value(norm.weight, norm.layer),
                            model.weights.optional_value(norm.bias, norm.layer)});
  }
}

void normalize_backward(Model& model, const Norm& norm, Tensor x, NormStatistics kept, Tensor& dy,
                        Tensor& dx, bool accumulate) {
  OpContext& context = model.context;
  Weights& weights = model.weights;
  const NormKind kind = model.config.norm;
  const bool has_bias = kind == NormKind::LayerNorm;
  NormBackward op{kind,
                  x,
                  kept.rstd,
                  has_bias ? &kept.mean : nullptr,
                  weights.value(norm.weight, norm.layer),
                  weights.optional_value(norm.bias, norm.layer),
                  dy,
                  dx,
                  accumulate};
  Tensor partials;
  if (weights.trains(norm.weight, norm.layer)) {
    const GradientTarget dweight = weights.gradient(context, norm.weight, norm.layer);
    op.dweight = &dweight.tensor;
    op.accumulate_dweight = dweight.accumulate;
    if (has_bias) {
      const GradientTarget dbias = weights.gradient(context, norm.bias, norm.layer);
      op.dbias = &dbias.tensor;
      op.accumulate_dbias = dbias.accumulate;
    }
    partials = context.scratch({"norm_partials", norm.layer},
                               norm_partials_shape(kind, x.shape()[0], x.shape()[1]));
    op.partials = &partials;
  }
  context.device.run(op);
  x.release();
  kept = {};
}

}  // namespace vramfit
