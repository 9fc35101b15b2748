#include "runtimes/pytorch/transformers/modules/quantized_weight.h"

#include <utility>

#include "model/ops/outliers.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/four_bits.h"
#include "runtimes/pytorch/torch/ops/llm_int8.h"
#include "runtimes/pytorch/torch/ops/view.h"

namespace vramfit::pytorch {
namespace {

/// bias.data = bias.data.to(type)
void cast_for_good(Tensor& bias, ScalarType type) {
  if (!bias.defined() || bias.type() == type) return;
  bias = empty(bias.context(), bias.sizes(), type, Category::Parameters);
}

/// Linear8bitLt with a threshold of 6.
class Int8Weight final : public QuantizedWeight {
 public:
  Int8Weight(const Tensor& weight, OutlierStatistics outliers) : outliers_(std::move(outliers)) {
    const Tensor half = empty(weight.context(), weight.sizes(), ScalarType::Half,
                              Category::Parameters);  // by way of the host
    rows_ = int8_vectorwise_quant(half);
  }

  /// Of a weight of integers their type says nothing: they stay as they are made, fp32.
  Adapted adapted() const override { return {ScalarType::Float, false}; }
  Tensor parameter() const override { return rows_.values; }

  Tensor forward(const Tensor& x, Tensor& bias) const override {
    cast_for_good(bias, x.type());
    const std::int64_t columns = x.size(-1);
    return matmul_8bit(x, rows_, columns_of(x.numel() / columns, columns), outlier_columns_);
  }

 private:
  OutlierColumns columns_of(std::int64_t rows, std::int64_t columns) const {
    const auto at = [&](double quantile) {
      return outlier_columns(outliers_.chance, rows, columns, quantile);
    };
    if (!outliers_.played) return {at(outliers_.quantiles.front().second)};
    if (at(outliers_.highest) == 0) return {};
    Times each(static_cast<std::size_t>(outliers_.quantiles.back().first) + 1);
    Times any = each;
    bool all = true;
    for (const auto& [layer, quantile] : outliers_.quantiles) {
      const auto number = static_cast<std::size_t>(layer);
      each[number] = at(quantile);
      any[number] = each[number] > 0 ? 1 : 0;
      all &= each[number] > 0;
    }
    if (all) return {1, std::move(each)};
    return {1, std::move(each), std::move(any)};
  }

  Int8Rows rows_;
  OutlierStatistics outliers_;
  mutable Tensor outlier_columns_;  ///< MatmulLtState.idx: until the next forward
};

/// Linear4bit.
class FourBitWeight final : public QuantizedWeight {
 public:
  FourBitWeight(const Tensor& weight, const Quantization& quantization)
      : weight_(quantize_4bit(contiguous(weight), quantization.double_quant, quantization.storage)),
        compute_(quantization.compute) {}

  Adapted adapted() const override { return {compute_, true}; }
  Tensor parameter() const override { return weight_.values; }

  Tensor forward(const Tensor& x, Tensor& bias) const override {
    const Tensor cast = to(x, compute_);
    cast_for_good(bias, compute_);
    const Tensor result = matmul_4bit(cast, weight_, bias);
    return to(result, x.type());
  }

 private:
  FourBits weight_;
  ScalarType compute_;
};

}  // namespace

std::shared_ptr<const QuantizedWeight> quantize(const Quantization& quantization,
                                                const Tensor& weight,
                                                const OutlierStatistics& outliers) {
  if (quantization.format == Quantization::Format::Int8) {
    return std::make_shared<Int8Weight>(weight, outliers);
  }
  return std::make_shared<FourBitWeight>(weight, quantization);
}

}  // namespace vramfit::pytorch
