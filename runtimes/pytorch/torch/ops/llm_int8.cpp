#include "runtimes/pytorch/torch/ops/llm_int8.h"

#include <utility>

#include "runtimes/pytorch/torch/ops/cast.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/linear.h"
#include "runtimes/pytorch/torch/ops/reduction.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/torch/tensor/context.h"
#include "runtimes/pytorch/torch/tensor/graph.h"

namespace vramfit::pytorch {
namespace {

Tensor scratch(Context& context, const Dims& sizes, ScalarType type) {
  return empty(context, sizes, type, Category::Workspace);
}

/// a[:, columns]
Tensor columns_of(const Tensor& a, std::int64_t columns) {
  return scratch(a.context(), {a.size(0), columns}, a.type());
}

/// bitsandbytes::int8_vectorwise_dequant: A * stats.view(-1, 1) * (1 / 127), in fp32.
Tensor int8_vectorwise_dequant(const Tensor& rows) {
  const Tensor scaled = scratch(rows.context(), rows.sizes(), ScalarType::Float);
  return scratch(rows.context(), rows.sizes(), ScalarType::Float);
}

/// bitsandbytes::int8_scaled_mm: sums in int32, then fp16, then x's type.
Tensor int8_scaled_mm(const Int8Rows& x, const Int8Rows& weight, ScalarType type) {
  Context& context = x.values.context();
  const Dims sizes = {x.values.size(0), weight.values.size(0)};
  const Tensor sums = scratch(context, sizes, ScalarType::Int);
  if (!context.elsewhere) context.libraries.use_int8();
  const Tensor result = empty(context, sizes, ScalarType::Half);
  return to(result, type);
}

/// A linear's input beside what it is quantised to.
struct Int8Input {
  Int8Rows rows;
  Tensor outlier_columns;
};

/// bitsandbytes::int8_vectorwise_quant with LLM.int8()'s threshold.
Int8Input quantize_input(const Tensor& x, const OutlierColumns& outliers) {
  Context& context = x.context();
  const Tensor half = to(x, ScalarType::Half);
  Int8Input result;
  result.rows.scales = scratch(context, {x.size(0)}, ScalarType::Float);
  result.rows.values = scratch(context, x.sizes(), ScalarType::Char);
  Tensor magnitudes = scratch(context, x.sizes(), ScalarType::Half);
  const Tensor is_outlier = scratch(context, x.sizes(), ScalarType::Bool);
  magnitudes.reset();
  if (outliers.count > 0) {
    Tensor by_column;
    {
      const Tape::TimesScope any(context.tape, outliers.any);
      by_column = reduce_dim(is_outlier, -2);
    }
    const Tape::TimesScope each(context.tape, outliers.each);
    result.outlier_columns = scratch(context, {outliers.count}, ScalarType::Long);
  }
  return result;
}

/// A product, and the columns of x that were not quantised.
struct Product {
  Tensor result;
  Tensor sub_x;
};

/// output.addmm(subA, subB.t()); where a layer has no outliers, `product` itself.
Tensor add_outliers(const Tensor& product, const Tensor& sub_x, const Tensor& sub_weight,
                    const OutlierColumns& outliers) {
  Tape& tape = product.context().tape;
  Tensor right;
  Tensor left;
  {
    const Tape::TimesScope each(tape, outliers.each);
    right = lower(t(sub_weight));  // as addmm would
    left = lower(sub_x);
  }
  const Tape::TimesScope any(tape, outliers.any);
  const Tensor sum = addmm(product, left, right);
  if (!outliers.any) return sum;
  if (sum.type() != product.type()) tape.need_each_layer();  // what follows has another type
  tape.replace(*sum.impl()->storage->origin, *product.impl()->storage->origin);
  return sum;
}

/// bitsandbytes::int8_mixed_scaled_mm: x W^T, both of rows, outlier columns in x's type.
Product int8_mixed_scaled_mm(const Tensor& x, const Int8Input& input, const Int8Rows& weight,
                             const OutlierColumns& outliers) {
  Context& context = x.context();
  const ScalarType type = x.type();
  if (outliers.count == 0) return {int8_scaled_mm(input.rows, weight, type), {}};
  Tensor sub_x;
  Tensor sub_weight;
  {
    const Tape::TimesScope each(context.tape, outliers.each);
    sub_x = columns_of(x, outliers.count);
    sub_weight = columns_of(weight.values, outliers.count);
    Tensor dequantized = int8_vectorwise_dequant(sub_weight);
    sub_weight = to(dequantized, type);
  }
  const Tensor product = int8_scaled_mm(input.rows, weight, type);
  const Tensor sum = add_outliers(product, sub_x, sub_weight, outliers);
  return {sum, std::move(sub_x)};
}

/// What ctx holds of a forward, by plain attributes: no hook sees them, so that checkpointing keeps
/// the input of every such linear, and backward lets go of none.
struct MatMul8bitLtBackward {
  static constexpr bool kOutlivesBackward = true;
  Tensor rows;
  Tensor sub_rows;
  Tensor outlier_columns;
  Int8Rows weight;

  Gradients operator()(Node& self, Gradients& grads) const {
    const ScalarType type = rows.type();
    const Tensor grad = contiguous(reshape(grads[0], flat(grads[0])));
    const Tensor dequantized = scratch(grad.context(), weight.values.sizes(), type);
    scratch(grad.context(), weight.scales.sizes(), ScalarType::Float);  // SCB / 127
    return {reshape(mm(to(grad, type), dequantized), self.input_sizes[0])};
  }
};

}  // namespace

Int8Rows int8_vectorwise_quant(const Tensor& rows) {
  Context& context = rows.context();
  Int8Rows result;
  result.scales = empty(context, {rows.size(0)}, ScalarType::Float, Category::Parameters);
  result.values = empty(context, rows.sizes(), ScalarType::Char, Category::Parameters);
  return result;
}

Tensor matmul_8bit(const Tensor& x, const Int8Rows& weight, const OutlierColumns& outliers,
                   Tensor& outlier_columns) {
  Context& context = x.context();
  MatMul8bitLtBackward backward;
  Tensor result;
  {
    const Setting no_grad(context.grad_enabled, false);
    const Tensor rows = reshape(x, flat(x));
    const Int8Input input = quantize_input(rows, outliers);
    outlier_columns = input.outlier_columns;
    Product product = int8_mixed_scaled_mm(rows, input, weight, outliers);
    backward = {rows, std::move(product.sub_x), input.outlier_columns, weight};
    result = reshape(product.result, x.sizes().with(-1, weight.values.size(0)));
  }
  set_history(result, make_node(
                          context, [&] { return std::move(backward); }, x));
  return result;
}

}  // namespace vramfit::pytorch
