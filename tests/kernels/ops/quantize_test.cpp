#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/cpu/e4m3.h"
#include "kernels/cpu/quantized_weight.h"
#include "model/ops/quantized_layout.h"
#include "model/ops/workspaces.h"
#include "tests/kernels/support/formats.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

/// ‖a − b‖₂ / ‖b‖₂.
double relative_error(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(difference / size);
}

/// A matrix that is quantised, and read back.
class Stored {
 public:
  Stored(Workbench& bench, Format format, const Tensor& from)
      : value(bench.tensor(format, from.shape())),
        scales(has_row_scales(format) ? bench.floats({from.shape()[0]}) : Tensor()) {
    bench.device.run(Quantize{from, value, scales_or_null(), 0});
  }

  Tensor* scales_or_null() { return scales ? &scales : nullptr; }

  std::vector<double> read() {
    const QuantizedWeight weight(value, scales_or_null());
    std::vector<double> values;
    for (std::int64_t row = 0; row < value.shape()[0]; ++row) {
      for (std::int64_t column = 0; column < value.shape()[1]; ++column) {
        const auto [code, scale] = weight.value(row, column);
        values.push_back(static_cast<double>(code * scale * weight.row_scale(row)));
      }
    }
    return values;
  }

  Tensor value;
  Tensor scales;
};

// Half an ulp of each value, or what is lost beyond the largest.
TEST(E4m3, RoundsToTheNearest) {
  constexpr int kLargest = 0x7E;
  for (int bits = 0; bits < kLargest; ++bits) {
    const float low = E4m3::value_of(static_cast<std::uint8_t>(bits));
    const float high = E4m3::value_of(static_cast<std::uint8_t>(bits + 1));
    const float middle = (low + high) / 2;
    EXPECT_EQ(E4m3::bits_of(low), bits);
    EXPECT_EQ(E4m3::bits_of(std::nextafter(middle, low)), bits);
    EXPECT_EQ(E4m3::bits_of(std::nextafter(middle, high)), bits + 1);
    EXPECT_EQ(E4m3::bits_of(middle), bits + bits % 2) << "ties to even";
    EXPECT_EQ(E4m3::bits_of(-low), bits | 0x80);
  }
  EXPECT_EQ(E4m3::bits_of(1e9F), kLargest);
  EXPECT_EQ(E4m3::bits_of(-INFINITY), 0x80 | kLargest);
  EXPECT_TRUE(std::isnan(E4m3::value_of(E4m3::bits_of(NAN))));
}

TEST(E4m3, KnowsItsEnds) {
  EXPECT_EQ(E4m3::value_of(0x01), 0x1p-9F);
  EXPECT_EQ(E4m3::value_of(0x08), 0x1p-6F);
  EXPECT_EQ(E4m3::value_of(0x38), 1.0F);
  EXPECT_EQ(E4m3::value_of(0x7E), 448.0F);
  EXPECT_TRUE(std::isnan(E4m3::value_of(0x7F)));
}

TEST(Codebook, GivesTheNearestCode) {
  const Codebook& codebook = kNormalQuantiles;
  for (int code = 0; code < 16; ++code)
    EXPECT_EQ(nearest_code(codebook, codebook.values[code]), code);
  EXPECT_EQ(nearest_code(codebook, 0.03F), 7);
  EXPECT_EQ(nearest_code(codebook, 0.05F), 8);
  EXPECT_EQ(nearest_code(codebook, -0.9F), 0);
}

class QuantizeTest : public testing::TestWithParam<Format> {
 protected:
  Workbench bench{DType::Bf16};
};

TEST_P(QuantizeTest, LosesNoMoreThanItsCodesMust) {
  const Tensor from = bench.random({256, 1024});
  Stored stored(bench, GetParam(), from);
  const double error = relative_error(stored.read(), values_of(from));
  EXPECT_LE(error, most_error(GetParam()));
  EXPECT_GE(error, most_error(GetParam()) / 3) << "a format that loses less than it can";
}

TEST_P(QuantizeTest, OfSlabsIsThatOfTheWhole) {
  const Tensor from = bench.random({6, 256});
  Stored whole(bench, GetParam(), from);
  Stored parts(bench, GetParam(), from);
  const Tensor first = bench.tensor(from.format(), {4, 256});
  const Tensor second = bench.tensor(from.format(), {2, 256});
  bench.device.upload(first, from.data(), first.bytes());
  bench.device.upload(second, from.as<std::byte>() + first.bytes(), second.bytes());
  std::fill_n(parts.value.as<std::uint8_t>(), parts.value.bytes(), std::uint8_t{0xAA});
  bench.device.run(Quantize{second, parts.value, parts.scales_or_null(), 4});
  bench.device.run(Quantize{first, parts.value, parts.scales_or_null(), 0});
  EXPECT_EQ(parts.read(), whole.read());
}

TEST_P(QuantizeTest, KeepsZeroAndTheLargest) {
  Tensor from = bench.tensor(DType::Fp32, {2, 128});
  std::vector<double> values(256, 0.0);
  values[128] = 12.0;
  set_values(from, values);
  Stored stored(bench, GetParam(), from);
  const std::vector<double> read = stored.read();
  EXPECT_NEAR(read[128], 12.0, 0.01);
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_TRUE(i == 128 || read[i] == 0.0) << i;
  }
}

TEST_P(QuantizeTest, RefusesScalesThatAreNotAsTheFormatHasThem) {
  const Tensor from = bench.random({2, 128});
  Tensor to = bench.tensor(GetParam(), {2, 128});
  Tensor scales = bench.floats({2});
  const bool beside = has_row_scales(GetParam());
  EXPECT_THROW(bench.device.run(Quantize{from, to, beside ? nullptr : &scales, 0}),
               std::logic_error);
  EXPECT_THROW(bench.device.run(Quantize{from, to, beside ? &scales : nullptr, 1}),
               std::logic_error);
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantizeTest, testing::ValuesIn(quantized_formats()),
                         [](const auto& test) { return test_name(test.param.name()); });

/// y of a quantised linear against that of the weight it was made of.
class QuantizedLinearTest : public testing::TestWithParam<const char*> {
 protected:
  /// Throws what the op throws.
  double error_of(std::int64_t rows) {
    const ModelPrecision precision = parse_model_precision(GetParam());
    const Tensor x = bench.random({rows, 512});
    const Tensor weight = bench.random({384, 512});
    const Tensor bias = bench.random({384});
    const Tensor residual = bench.random({rows, 384});
    Tensor workspace = bench.bytes(0);
    Tensor exact = bench.empty({rows, 384});
    bench.device.run(LinearForward{x, weight, nullptr, nullptr, exact, workspace});

    Stored stored(bench, precision.linears, weight);
    const bool of_codes = precision.inputs == precision.linears;
    const bool few = rows <= kFusedRows;
    std::optional<Stored> input;
    if (of_codes && !few) input.emplace(bench, precision.inputs, x);
    Tensor dequantized;
    if (!of_codes && rows > kDirectRows) dequantized = bench.empty({384, 512});
    Tensor y = bench.empty({rows, 384});
    const QuantizedOperands operands{input ? &input->scales : nullptr, stored.scales_or_null(),
                                     dequantized ? &dequantized : nullptr, of_codes && few};
    const Tensor& multiplied = input ? input->value : x;
    bench.device.run(
        LinearForward{multiplied, stored.value, nullptr, nullptr, y, workspace, operands});
    const std::vector<double> product = values_of(y);
    bench.device.run(
        LinearForward{multiplied, stored.value, &bias, &residual, y, workspace, operands});
    expect_added(values_of(y), product, values_of(bias), values_of(residual));
    return relative_error(product, values_of(exact));
  }

  static void expect_added(const std::vector<double>& y, const std::vector<double>& product,
                           const std::vector<double>& bias, const std::vector<double>& residual) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double expected = product[i] + bias[i % bias.size()] + residual[i];
      EXPECT_NEAR(y[i], expected, 1e-4 * (1 + std::abs(product[i])));
    }
  }

  Workbench bench{DType::Fp32};
};

TEST_P(QuantizedLinearTest, IsNearTheOneItWasMadeOf) {
  const ModelPrecision precision = parse_model_precision(GetParam());
  const bool both = precision.inputs == precision.linears;
  const double most = most_error(precision.linears) * (both ? 4.0 / 3 : 1);
  for (const std::int64_t rows : {std::int64_t{1}, kFusedRows, kFusedRows + 5, kDirectRows + 5}) {
    const double error = error_of(rows);
    EXPECT_LE(error, most) << rows << " rows";
    EXPECT_GE(error, most / 3) << rows << " rows";
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, QuantizedLinearTest, testing::ValuesIn(quantized_names()),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace vramfit
