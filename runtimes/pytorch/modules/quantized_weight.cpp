#include "runtimes/pytorch/modules/quantized_weight.h"

#include "runtimes/pytorch/modules/outliers.h"
#include "runtimes/pytorch/ops/elementwise.h"
#include "runtimes/pytorch/ops/four_bits.h"
#include "runtimes/pytorch/ops/llm_int8.h"
#include "runtimes/pytorch/ops/view.h"

namespace vramfit::pytorch {
namespace {

Dims flat(const Tensor& x) { return {x.numel() / x.size(-1), x.size(-1)}; }

/// Linear8bitLt with a threshold of 6.
class Int8Weight final : public QuantizedWeight {
 public:
  Int8Weight(const Tensor& weight, const OutlierStatistics& outliers) : outliers_(outliers) {
    const Tensor half = empty(weight.context(), weight.sizes(), ScalarType::Half,
                              Category::Parameters);  // by way of the host
    rows_ = int8_vectorwise_quant(half);
  }

  Tensor forward(const Tensor& x, Tensor& /*bias*/) const override {
    const Tensor rows = reshape(x, flat(x));
    const std::int64_t outliers =
        outlier_columns(outliers_.chance, rows.size(0), rows.size(1), outliers_.quantile);
    const Int8Input input = int8_quantize_input(rows, outliers);
    outlier_columns_ = input.outlier_columns;
    const Tensor result = int8_mixed_scaled_mm(rows, input, rows_);
    return reshape(result, x.sizes().with(-1, result.size(1)));
  }

 private:
  Int8Rows rows_;
  OutlierStatistics outliers_;
  mutable Tensor outlier_columns_;  ///< MatmulLtState.idx: until the next forward
};

/// Linear4bit.
class FourBitWeight final : public QuantizedWeight {
 public:
  FourBitWeight(const Tensor& weight, const Quantization& quantization)
      : weight_(quantize_4bit(contiguous(weight), quantization.double_quant)),
        compute_(quantization.compute) {}

  Tensor forward(const Tensor& x, Tensor& bias) const override {
    const Tensor cast = to(x, compute_);
    if (bias.defined() && bias.type() != compute_) {
      bias = empty(bias.context(), bias.sizes(), compute_, Category::Parameters);
    }
    const Tensor result = gemm_4bit(cast, weight_, bias);
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
