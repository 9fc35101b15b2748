#include "runtimes/pytorch/ops/llm_int8.h"

#include "runtimes/pytorch/ops/elementwise.h"
#include "runtimes/pytorch/ops/linear.h"
#include "runtimes/pytorch/ops/view.h"
#include "runtimes/pytorch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

Tensor work(Context& context, const Dims& sizes, ScalarType type) {
  return empty(context, sizes, type, Category::Workspace);
}

/// a[:, columns]
Tensor columns_of(const Tensor& a, std::int64_t columns) {
  return work(a.context(), {a.size(0), columns}, a.type());
}

/// bitsandbytes::int8_vectorwise_dequant: A * stats.view(-1, 1) * (1 / 127), in fp32.
Tensor int8_vectorwise_dequant(const Tensor& rows) {
  const Tensor scaled = work(rows.context(), rows.sizes(), ScalarType::Float);
  return work(rows.context(), rows.sizes(), ScalarType::Float);
}

/// bitsandbytes::int8_scaled_mm: sums in int32, then fp16, then x's type.
Tensor int8_scaled_mm(const Int8Rows& x, const Int8Rows& weight, ScalarType type) {
  Context& context = x.values.context();
  const Dims sizes = {x.values.size(0), weight.values.size(0)};
  const Tensor sums = work(context, sizes, ScalarType::Int);
  context.libraries.use_int8();
  const Tensor result = empty(context, sizes, ScalarType::Half);
  return to(result, type);
}

}  // namespace

Int8Rows int8_vectorwise_quant(const Tensor& rows) {
  Context& context = rows.context();
  Int8Rows result;
  result.scales = empty(context, {rows.size(0)}, ScalarType::Float, Category::Parameters);
  result.values = empty(context, rows.sizes(), ScalarType::Char, Category::Parameters);
  return result;
}

Int8Input int8_quantize_input(const Tensor& x, std::int64_t outliers) {
  Context& context = x.context();
  const Tensor half = to(x, ScalarType::Half);
  Int8Input result;
  result.rows.scales = work(context, {x.size(0)}, ScalarType::Float);
  result.rows.values = work(context, x.sizes(), ScalarType::Char);
  Tensor magnitudes = work(context, x.sizes(), ScalarType::Half);
  const Tensor is_outlier = work(context, x.sizes(), ScalarType::Bool);
  magnitudes.reset();
  if (outliers > 0) {
    const Tensor by_column = work(context, {x.size(1)}, ScalarType::Bool);
    result.outlier_columns = work(context, {outliers}, ScalarType::Long);
  }
  return result;
}

Tensor int8_mixed_scaled_mm(const Tensor& x, const Int8Input& input, const Int8Rows& weight) {
  const ScalarType type = x.type();
  if (!input.outlier_columns.defined()) return int8_scaled_mm(input.rows, weight, type);
  const std::int64_t count = input.outlier_columns.size(0);
  const Tensor sub_x = columns_of(x, count);
  Tensor sub_weight = columns_of(weight.values, count);
  Tensor dequantized = int8_vectorwise_dequant(sub_weight);
  sub_weight = to(dequantized, type);
  dequantized.reset();
  const Tensor result = int8_scaled_mm(input.rows, weight, type);
  return addmm(result, sub_x, t(sub_weight));
}

}  // namespace vramfit::pytorch
