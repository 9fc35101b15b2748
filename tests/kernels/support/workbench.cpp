#include "tests/kernels/support/workbench.h"

#include "kernels/cpu/matrix.h"
#include "kernels/cpu/quantized_weight.h"

namespace vramfit {

std::vector<double> values_of(const Tensor& tensor) {
  const std::int64_t count = tensor.stored().elements();
  std::vector<double> values(static_cast<std::size_t>(count));
  if (tensor.format() == DType::Int32) {
    const auto* from = tensor.as<std::int32_t>();
    values.assign(from, from + count);
    return values;
  }
  with_element(tensor.format(), [&](auto e) {
    const auto* from = input<decltype(e)>(tensor, count);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(from[i]);
  });
  return values;
}

std::vector<double> dequantized_values(const Tensor& weight, const Tensor* scales) {
  const QuantizedWeight rows(weight, scales);
  std::vector<double> values;
  for (std::int64_t o = 0; o < weight.stored()[0]; ++o) {
    for (std::int64_t i = 0; i < weight.stored()[1]; ++i) {
      const auto [code, scale] = rows.value(o, i);
      values.push_back(static_cast<double>(code * scale * rows.row_scale(o)));
    }
  }
  return values;
}

std::vector<double> downloaded_values(Device& device, const Tensor& tensor) {
  PassThrough memory;
  Ledger ledger(memory);
  const Tensor copy(ledger, "copy", tensor.category(), tensor.format(), tensor.shape(),
                    tensor.stored());
  device.download(copy.data(), tensor, tensor.bytes());
  return values_of(copy);
}

void set_values(const Tensor& tensor, const std::vector<double>& values) {
  with_element(tensor.format(), [&](auto e) {
    using Element = decltype(e);
    auto* to = output<Element>(tensor, static_cast<std::int64_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      to[i] = static_cast<Element>(static_cast<Accumulator<Element>>(values[i]));
    }
  });
}

std::vector<double> Gradient::added() const {
  std::vector<double> values = values_of(tensor);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= before[i];
  return values;
}

Tensor Workbench::make(Format format, const Shape& shape, const Shape& stored) {
  return {ledger_, "tensor", Category::Activations, format, shape, stored};
}

Tensor Workbench::integers(const std::vector<std::int32_t>& values, const Shape& shape) {
  Tensor tensor = make(DType::Int32, shape, shape);
  device.upload(tensor, values.data(), values.size() * sizeof(std::int32_t));
  return tensor;
}

Tensor Workbench::bytes(std::uint64_t count) {
  const Shape shape = {static_cast<std::int64_t>((count + 3) / 4)};
  return make(DType::Int32, shape, shape);
}

Tensor Workbench::random(const Shape& shape, const Shape& stored) {
  Tensor tensor = empty(shape, stored);
  device.run(FillNormal{tensor, 0.0F, 1.0F, seed_++});
  return tensor;
}

Tensor Workbench::random_tokens(const Shape& shape, std::int64_t vocab) {
  Tensor tensor = make(DType::Int32, shape, shape);
  device.run(FillTokens{tensor, vocab, seed_++});
  return tensor;
}

Tensor Workbench::copy(const Tensor& tensor) {
  Tensor result = make(tensor.format(), tensor.shape(), tensor.stored());
  device.upload(result, tensor.data(), tensor.bytes());
  return result;
}

Gradient Workbench::gradient_of(const Tensor& x, bool accumulate) {
  Tensor tensor = accumulate ? random(x.shape(), x.stored()) : empty(x.shape(), x.stored());
  std::vector<double> before(static_cast<std::size_t>(x.stored().elements()));
  if (accumulate) before = values_of(tensor);
  return {std::move(tensor), accumulate, std::move(before)};
}

}  // namespace vramfit
