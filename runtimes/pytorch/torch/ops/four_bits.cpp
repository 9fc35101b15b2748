#include "runtimes/pytorch/torch/ops/four_bits.h"

#include "model/checked.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/gemm_4bit.h"
#include "runtimes/pytorch/torch/ops/linear.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/context.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

constexpr std::int64_t kBlock = 64;
constexpr std::int64_t kNestedBlock = 256;
constexpr std::int64_t kCodes = 16;
constexpr std::int64_t kNestedCodes = 256;

Tensor kept(Context& context, std::int64_t count, ScalarType type) {
  return empty(context, {count}, type, Category::Parameters);
}

Tensor work(Context& context, const Dims& sizes, ScalarType type) {
  return empty(context, sizes, type, Category::Workspace);
}

/// get_4bit_type: the table, scaled to at most 1.
Tensor code_of(Context& context) {
  Tensor code = kept(context, kCodes, ScalarType::Float);
  const Tensor magnitudes = work(context, {kCodes}, ScalarType::Float);
  const Tensor largest = work(context, {}, ScalarType::Float);
  return code;
}

/// The scales less their mean, in 8 bits.
void quantize_scales(FourBits& weight) {
  Context& context = weight.scales.context();
  const std::int64_t count = weight.scales.size(0);
  weight.offset = kept(context, 1, ScalarType::Float);
  const Tensor centred = work(context, {count}, ScalarType::Float);
  if (!context.bitsandbytes_map.defined()) {
    context.bitsandbytes_map = kept(context, kNestedCodes, ScalarType::Float);
  }
  weight.nested_scales = kept(context, div_up(count, kNestedBlock), ScalarType::Float);
  Tensor values = kept(context, count, ScalarType::Byte);
  weight.nested_code = kept(context, kNestedCodes, ScalarType::Float);
  weight.scales = std::move(values);
}

/// _dequant_linear_fallback: the scales, then the weight, are written out.
Tensor dequantize_and_multiply(const Tensor& x, const FourBits& weight, const Tensor& bias) {
  Context& context = x.context();
  Tensor scales = weight.scales;
  Tensor dequantized;
  if (weight.nested_scales.defined()) {
    dequantized = work(context, scales.sizes(), ScalarType::Float);
    scales = work(context, scales.sizes(), ScalarType::Float);  // + offset
  }
  const Tensor whole = work(context, weight.sizes, x.type());
  const AutocastScope off(x.context().autocast, std::nullopt);  // an op's own kernel is below it
  return linear(x, whole, bias);
}

/// The whole weight, in the type that it was quantised from.
Tensor dequantize_4bit(const FourBits& weight) {
  Context& context = weight.values.context();
  Tensor scales;
  if (weight.nested_scales.defined()) {
    scales = work(context, weight.scales.sizes(), ScalarType::Float);  // += offset
  }
  return work(context, weight.sizes, weight.type);
}

/// bitsandbytes::gemm_4bit
Tensor gemm_4bit(const Tensor& x, const FourBits& weight, const Tensor& bias) {
  Context& context = x.context();
  const std::int64_t rows = x.numel() / x.size(-1);
  const bool fused = is_fused(
      {context.arch, context.multiprocessors, x.type(), rows, weight.sizes[0], weight.sizes[1]});
  if (!fused) return dequantize_and_multiply(x, weight, bias);
  const Tensor dense = contiguous(x);
  return empty(context, x.sizes().with(-1, weight.sizes[0]), x.type());
}

}  // namespace

FourBits quantize_4bit(const Tensor& weight, bool double_quant, ScalarType storage) {
  Context& context = weight.context();
  const std::int64_t count = weight.numel();
  FourBits result;
  result.sizes = weight.sizes();
  result.type = weight.type();
  result.scales = kept(context, div_up(count, kBlock), ScalarType::Float);
  result.values = kept(context, (count + 1) / (2 * element_size(storage)), storage);
  result.code = code_of(context);
  if (double_quant) quantize_scales(result);
  return result;
}

Tensor matmul_4bit(const Tensor& x, const FourBits& weight, const Tensor& bias) {
  Context& context = x.context();
  Tensor result;
  {
    const Setting no_grad(context.grad_enabled, false);
    result = gemm_4bit(x, weight, bias);
  }
  const auto make_backward = [&] {
    return [weight](Node&, Gradients& grads) -> Gradients {
      const Tensor& grad = grads[0];
      Tensor whole = dequantize_4bit(weight);
      whole = to(whole, grad.type());
      return {matmul(grad, whole)};
    };
  };
  set_history(result, make_node(context, make_backward, x));
  return result;
}

}  // namespace vramfit::pytorch
