#include "runtimes/pytorch/transformers/modules/layers.h"

#include <utility>

#include "runtimes/pytorch/torch/ops/cast.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/embedding.h"
#include "runtimes/pytorch/torch/ops/linear.h"
#include "runtimes/pytorch/torch/ops/normalization.h"
#include "runtimes/pytorch/torch/ops/reduction.h"
#include "runtimes/pytorch/torch/ops/view.h"

// In Python an operand dies as soon as the op that consumed it returns, in C++ at the end of the
// full expression: hence one op a statement.
namespace vramfit::pytorch {
namespace {

/// accelerate/hooks.py, AlignDevicesHook: what lies on the host, and here on the meta device, is
/// copied for as long as its module's forward runs.
Tensor onloaded(const Tensor& parameter) {
  if (!parameter.defined() || !parameter.is_meta()) return parameter;
  return empty(parameter.context(), parameter.sizes(), parameter.type(), Category::Parameters);
}

}  // namespace

Tensor parameter(Context& context, const Dims& sizes, ScalarType type) {
  Tensor result = buffer(context, sizes, type);
  result.impl()->requires_grad = true;
  return result;
}

Tensor buffer(Context& context, const Dims& sizes, ScalarType type) {
  return context.meta ? empty_meta(context, sizes, type)
                      : empty(context, sizes, type, Category::Parameters);
}

Embedding::Embedding(Context& context, std::int64_t rows, std::int64_t width, ScalarType type)
    : weight(parameter(context, {rows, width}, type)) {}

Tensor Embedding::operator()(const Tensor& indices) const {
  if (forward) return forward(*this, indices);
  return embedding(onloaded(weight), indices);
}

Linear::Linear(Context& context, std::int64_t in, std::int64_t out, bool has_bias, ScalarType type,
               Layout layout)
    : layout_(layout) {
  weight = parameter(context, layout == Layout::OutIn ? Dims{out, in} : Dims{in, out}, type);
  if (has_bias) bias = parameter(context, {out}, type);
}

std::int64_t Linear::in() const { return weight.size(layout_ == Layout::OutIn ? 1 : 0); }
std::int64_t Linear::out() const { return weight.size(layout_ == Layout::OutIn ? 0 : 1); }

Tensor Linear::base(const Tensor& x) const {
  if (quantized != nullptr) return quantized->forward(x, bias);
  return forward ? forward(*this, x) : multiply(x, bias);
}

Tensor Linear::multiply(const Tensor& x, const Tensor& with_bias) const {
  const Tensor w = onloaded(weight);
  const Tensor b = onloaded(with_bias);
  if (layout_ == Layout::OutIn) return linear(x, w, b);
  // transformers/pytorch_utils.py, Conv1D.
  const Tensor rows = addmm(b, reshape(x, {x.numel() / x.size(-1), x.size(-1)}), w);
  return reshape(rows, x.sizes().with(-1, out()));
}

Tensor Linear::operator()(const Tensor& x) const {
  Tensor result = base(x);
  if (!lora) return result;
  return quantized != nullptr ? adapted_quantized(x, std::move(result))
                              : adapted(x, std::move(result));
}

// lora_B(lora_A(dropout(x))) * scaling
Tensor Linear::update(const Tensor& cast) const {
  Tensor result = linear(dropout(cast, lora->dropout, true), lora->a, {});
  result = linear(result, lora->b, {});
  return mul_scalar(result);
}

// In the adapter's type, then back.
Tensor Linear::adapted(const Tensor& x, Tensor result) const {
  const ScalarType type = result.type();
  const Tensor cast = to(x, lora->a.type());
  Tensor added = update(cast);
  result = add(result, added);
  added.reset();
  result = to(result, type);
  return result;
}

// Under autocast nothing is cast here.
Tensor Linear::adapted_quantized(const Tensor& x, Tensor result) const {
  if (quantized->adapted().clones) result = clone(result);
  const bool converts = !x.context().autocast.enabled();
  const Tensor cast = converts ? to(x, lora->a.type()) : x;
  Tensor output = update(cast);
  if (converts) output = to(output, result.type());
  result = add(result, output);
  return result;
}

Norm::Norm(Context& context, Kind kind, std::int64_t width, ScalarType type) : kind_(kind) {
  weight = parameter(context, {width}, type);
  if (kind == Kind::LayerNorm) bias = parameter(context, {width}, type);
}

namespace {

/// x.pow(2).mean(-1, keepdim=True)
Tensor mean_square(const Tensor& x) {
  const Tensor squares = pow(upper(x));
  return mean_last(squares);
}

// LlamaRMSNorm.forward, and Olmo2RMSNorm's, which multiplies by the weight before it rounds.
Tensor llama_rms_norm(const Tensor& x, const Tensor& weight, bool scale_in_float) {
  Tensor hidden = to(x, ScalarType::Float);
  const Tensor variance = mean_square(hidden);
  Tensor scale = add_scalar(variance);
  scale = rsqrt(scale);
  hidden = mul(hidden, scale);
  scale.reset();
  if (scale_in_float) {
    const Tensor scaled = mul(weight, hidden);
    return to(scaled, x.type());
  }
  const Tensor rounded = to(hidden, x.type());
  return mul(weight, rounded);
}

// GemmaRMSNorm.forward.
Tensor gemma_rms_norm(const Tensor& x, const Tensor& weight) {
  Tensor output;
  {
    const Tensor upcast = to(x, ScalarType::Float);
    Tensor scale = mean_square(upcast);
    scale = add_scalar(scale);
    scale = rsqrt(scale);
    output = mul(upcast, scale);
  }
  Tensor gain = to(weight, ScalarType::Float);
  gain = add_scalar(gain);
  Tensor scaled = mul(output, gain);
  gain.reset();
  output = std::move(scaled);
  return to(output, x.type());
}

// NewGELUActivation.forward: 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x³)))
Tensor new_gelu(const Tensor& x) {
  const Tensor half = mul_scalar(x);
  Tensor inner = pow(upper(x));
  inner = mul_scalar(inner);
  inner = add(x, inner);
  inner = mul_scalar(inner);
  inner = tanh(inner);
  inner = add_scalar(inner);
  return mul(half, inner);
}

// FastGELUActivation.forward: 0.5 * x * (1 + tanh(x * 0.7978845608 * (1 + 0.044715 * x * x)))
Tensor fast_gelu(const Tensor& x) {
  const Tensor half = mul_scalar(x);
  Tensor scaled = mul_scalar(x);
  Tensor inner = mul_scalar(x);
  inner = mul(inner, x);
  inner = add_scalar(inner);
  inner = mul(scaled, inner);
  scaled.reset();
  inner = tanh(inner);
  inner = add_scalar(inner);
  return mul(half, inner);
}

}  // namespace

Tensor Norm::operator()(const Tensor& x) const {
  return forward ? forward(*this, x) : normalize(x);
}

Tensor Norm::normalize(const Tensor& x) const {
  const Tensor w = onloaded(weight);
  switch (kind_) {
    case Kind::LlamaRmsNorm:
      return llama_rms_norm(x, w, false);
    case Kind::Olmo2RmsNorm:
      return llama_rms_norm(x, w, true);
    case Kind::GemmaRmsNorm:
      return gemma_rms_norm(x, w);
    case Kind::LayerNorm:
      break;
  }
  return layer_norm(x, w, onloaded(bias));
}

Tensor activate(Activation activation, const Tensor& x) {
  switch (activation) {
    case Activation::Silu:
      return silu(x);
    case Activation::GeluOp:
      return gelu(x);
    case Activation::NewGelu:
      return new_gelu(x);
    case Activation::FastGelu:
      break;
  }
  return fast_gelu(x);
}

}  // namespace vramfit::pytorch
