#include "kernels/cpu/code_products.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/matrix.h"
#include "kernels/cpu/quantize_row.h"
#include "model/ops/quantized_layout.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

float* scale_of(const Tensor& scale) { return output<float>(scale, CodeScale::kValues); }

/// Calls `body` with a value of the type that codes with one scale for all of them have.
template <typename Body>
void with_tensor_code(const Tensor& codes, const Body& body) {
  with_code(codes.format().element(), body);
}

/// Largest magnitudes and codes.
template <typename Element, typename Code>
void encode(const EncodeTensor& op, const Tensor& to, bool transposed) {
  const std::int64_t rows = op.from.stored()[0];
  const std::int64_t columns = op.from.stored()[1];
  const auto from = input<Element>(op.from, rows, columns);
  auto* codes = output<Code>(to, rows * columns);
  const float factor =
      code_factor(to.format().row().largest, scale_of(op.scale)[CodeScale::kLargest]);
  for (std::int64_t n = 0; n < rows; ++n) {
    for (std::int64_t c = 0; c < columns; ++c) {
      round_to(codes[transposed ? c * rows + n : n * columns + c],
               static_cast<float>(from[n][c]) * factor);
    }
  }
  scale_of(op.scale)[CodeScale::kScale] = 1 / factor;
}

/// Codes as floats.
std::vector<float> read(const Tensor& codes, std::int64_t rows, std::int64_t columns) {
  std::vector<float> values;
  with_tensor_code(codes, [&](auto code) {
    const auto* from = input<decltype(code)>(codes, rows * columns);
    values.assign(from, from + rows * columns);
  });
  return values;
}

template <typename Element>
void multiply(const CodesProduct& op) {
  const std::int64_t rows = op.to.stored()[0];
  const std::int64_t columns = op.to.stored()[1];
  const std::int64_t depth = op.a.stored()[1];
  const std::vector<float> a = read(op.a, rows, depth);
  const std::vector<float> b = read(op.b, columns, depth);
  const double scale = static_cast<double>(scale_of(op.a_scale)[CodeScale::kScale]) *
                       static_cast<double>(scale_of(op.b_scale)[CodeScale::kScale]);
  const Element* bias = input<Element>(op.bias, columns);
  const Element* residual = input<Element>(op.residual, rows * columns);
  const auto to = output<Element>(op.to, rows, columns);
  require(residual == nullptr || !op.accumulate, "a product is added to one thing");
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      double sum = 0;  // products of codes are short, and their sums exact
      for (std::int64_t k = 0; k < depth; ++k) {
        sum += static_cast<double>(a[static_cast<std::size_t>(r * depth + k)]) *
               static_cast<double>(b[static_cast<std::size_t>(c * depth + k)]);
      }
      sum *= scale;
      if (bias != nullptr) sum += static_cast<double>(static_cast<float>(bias[c]));
      if (residual != nullptr)
        sum += static_cast<double>(static_cast<float>(residual[r * columns + c]));
      store(to[r][c], static_cast<Accumulator<Element>>(sum), op.accumulate);
    }
  }
}

}  // namespace

void find_largest(const Tensor& from, const Tensor& scale) {
  float& largest = scale_of(scale)[CodeScale::kLargest];
  with_element(from.format(), [&](auto e) {
    const std::int64_t count = from.stored().elements();
    const auto* values = input<decltype(e)>(from, count);
    largest = std::max(largest, largest_magnitude(values, count));
  });
}

void decode(const Tensor& codes, const Tensor& scale, const Tensor& to) {
  const std::int64_t count = to.stored().elements();
  const std::vector<float> values = read(codes, 1, count);
  const float by = scale_of(scale)[CodeScale::kScale];
  with_element(to.format(), [&](auto e) {
    using Element = decltype(e);
    auto* elements = output<Element>(to, count);
    for (const float value : values) *elements++ = static_cast<Element>(value * by);
  });
}

void CpuDevice::run(const FindLargest& op) { find_largest(op.from, op.scale); }

void CpuDevice::run(const EncodeTensor& op) {
  with_element(op.from.format(), [&op](auto e) {
    for (const Tensor* to : {op.codes, op.transposed}) {
      if (to == nullptr) continue;
      with_tensor_code(*to, [&](auto code) {
        encode<decltype(e), decltype(code)>(op, *to, to == op.transposed);
      });
    }
  });
}

void CpuDevice::run(const CodesProduct& op) {
  with_element(op.to.format(), [&op](auto e) { multiply<decltype(e)>(op); });
}

}  // namespace vramfit
