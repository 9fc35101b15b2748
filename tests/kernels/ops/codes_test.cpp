#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/element.h"
#include "model/ops/workspaces.h"
#include "tests/kernels/support/workbench.h"

// Products of codes that share a scale: of trained linears.

namespace vramfit {
namespace {

constexpr std::int64_t kRows = 48;
constexpr std::int64_t kColumns = 32;

/// A matrix of normal numbers, and its codes both ways.
struct Encoded {
  Encoded(Workbench& bench, const Shape& shape)
      : from(bench.random(shape)),
        scale(bench.floats({CodeScale::kValues})),
        codes(bench.tensor(DType::Fp8, shape)),
        transposed(bench.tensor(DType::Fp8, {shape[1], shape[0]})) {
    set_values(scale, {0, 0, 0, 0});
    bench.device.run(FindLargest{from, scale});
    bench.device.run(EncodeTensor{from, scale, &codes, &transposed});
  }

  std::vector<double> read(const Tensor& of) const {
    std::vector<double> values;
    const double by = values_of(scale)[CodeScale::kScale];
    with_code(of.format().element(), [&](auto code) {
      const auto* first = of.as<decltype(code)>();
      for (std::int64_t i = 0; i < of.stored().elements(); ++i) {
        values.push_back(by * static_cast<double>(static_cast<float>(first[i])));
      }
    });
    return values;
  }

  Tensor from;
  Tensor scale;
  Tensor codes;
  Tensor transposed;
};

double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

TEST(Codes, AreNearWhatTheyAreMadeOf) {
  Workbench bench(DType::Bf16);
  const Encoded x(bench, {kRows, kColumns});
  const std::vector<double> from = values_of(x.from);
  const std::vector<double> read = x.read(x.codes);
  const double largest = largest_of(from);
  EXPECT_EQ(values_of(x.scale)[CodeScale::kLargest], largest);
  EXPECT_NEAR(largest_of(read), largest, 1e-6 * largest) << "the largest has a code of its own";
  constexpr double kHalfStep = 1.0 / 16;
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_NEAR(read[i], from[i], kHalfStep * std::abs(from[i]) + 1e-5 * largest);
  }
}

TEST(Codes, AreTheSameTransposed) {
  Workbench bench(DType::Bf16);
  const Encoded x(bench, {kRows, kColumns});
  const auto* codes = x.codes.as<std::uint8_t>();
  const auto* transposed = x.transposed.as<std::uint8_t>();
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t c = 0; c < kColumns; ++c) {
      ASSERT_EQ(codes[r * kColumns + c], transposed[c * kRows + r]) << r << ", " << c;
    }
  }
}

TEST(Codes, OfZerosAreZeros) {
  Workbench bench(DType::Bf16);
  Encoded x(bench, {16, 16});
  set_values(x.from, std::vector<double>(256, 0));
  set_values(x.scale, {0, 0, 0, 0});
  bench.device.run(FindLargest{x.from, x.scale});
  bench.device.run(EncodeTensor{x.from, x.scale, &x.codes, nullptr});
  EXPECT_EQ(largest_of(x.read(x.codes)), 0);
  EXPECT_TRUE(std::isfinite(values_of(x.scale)[CodeScale::kScale]));
}

TEST(Largest, IsOfAllThatWasFound) {
  Workbench bench(DType::Bf16);
  Tensor scale = bench.floats({CodeScale::kValues});
  Tensor x = bench.random({16, 16});
  set_values(scale, {0, 1000, 0, 0});
  bench.device.run(FindLargest{x, scale});
  EXPECT_EQ(values_of(scale)[CodeScale::kLargest], 1000);
  std::vector<double> values = values_of(x);
  values[7] = -2048;
  values[8] = NAN;
  set_values(x, values);
  bench.device.run(FindLargest{x, scale});
  EXPECT_EQ(values_of(scale)[CodeScale::kLargest], 2048);
}

TEST(CodesProduct, MultipliesWhatCodesStandFor) {
  Workbench bench(DType::Bf16);
  const std::int64_t depth = 64;
  const Encoded a(bench, {kRows, depth});
  const Encoded b(bench, {kColumns, depth});
  Tensor bias = bench.random({kColumns});
  Tensor residual = bench.random({kRows, kColumns});
  Tensor workspace = bench.bytes(0);
  const std::vector<double> left = a.read(a.codes);
  const std::vector<double> right = b.read(b.codes);
  enum class Adds { Nothing, BiasAndResidual, ToWhatIsThere };
  for (const Adds adds : {Adds::Nothing, Adds::BiasAndResidual, Adds::ToWhatIsThere}) {
    const bool more = adds == Adds::BiasAndResidual;
    const bool accumulate = adds == Adds::ToWhatIsThere;
    Tensor to = accumulate ? bench.copy(residual) : bench.empty({kRows, kColumns});
    bench.device.run(CodesProduct{LinearPass::BackwardInput, to, a.codes, a.scale, b.codes, b.scale,
                                  more ? &bias : nullptr, more ? &residual : nullptr, to,
                                  accumulate, workspace});
    const std::vector<double> actual = values_of(to);
    for (std::int64_t r = 0; r < kRows; ++r) {
      for (std::int64_t c = 0; c < kColumns; ++c) {
        double sum = more ? values_of(bias)[static_cast<std::size_t>(c)] : 0;
        const auto at = static_cast<std::size_t>(r * kColumns + c);
        if (adds != Adds::Nothing) sum += values_of(residual)[at];
        for (std::int64_t k = 0; k < depth; ++k) {
          sum += left[static_cast<std::size_t>(r * depth + k)] *
                 right[static_cast<std::size_t>(c * depth + k)];
        }
        EXPECT_NEAR(actual[at], sum, 0.004 * std::abs(sum) + 1e-5);
      }
    }
  }
}

TEST(Producers, FindTheLargestOfWhatTheyWrite) {
  Workbench bench(DType::Bf16);
  Tensor x = bench.random({5, 24});
  Tensor weight = bench.random({24});
  Tensor y = bench.empty({5, 24});
  Tensor scale = bench.floats({CodeScale::kValues});
  const auto found = [&] { return values_of(scale)[CodeScale::kLargest]; };
  set_values(scale, {0, 0, 0, 0});
  bench.device.run(
      NormForward{NormKind::RmsNorm, 1e-5F, x, weight, nullptr, y, nullptr, nullptr, &scale});
  EXPECT_EQ(found(), largest_of(values_of(y)));
  Tensor act = bench.empty({5, 12});
  set_values(scale, {0, 0, 0, 0});
  Tensor of_pre = bench.floats({CodeScale::kValues});
  set_values(of_pre, {0, 0, 0, 0});
  bench.device.run(Activate{ActivationKind::SwiGlu, x, act, &scale, &of_pre});
  EXPECT_EQ(found(), largest_of(values_of(act)));
  EXPECT_EQ(values_of(of_pre)[CodeScale::kLargest], largest_of(values_of(x)));
  set_values(scale, {0, 0, 0, 0});
  bench.device.run(ActivateBackward{ActivationKind::SwiGlu, x, act, &scale});
  EXPECT_EQ(found(), largest_of(values_of(x)));
}

// The activation's backward of codes is that of what they stand for.
TEST(ActivateBackward, ReadsCodes) {
  for (const ActivationKind kind : {ActivationKind::SwiGlu, ActivationKind::Gelu}) {
    Workbench bench(DType::Bf16);
    const Encoded kept(bench, {16, 32});
    const Tensor dact = bench.random({16, kind == ActivationKind::SwiGlu ? 16 : 32});
    Tensor expected = bench.empty({16, 32});
    set_values(expected, kept.read(kept.codes));
    Tensor expected_act = bench.copy(dact);
    bench.device.run(ActivateBackward{kind, expected, expected_act});
    Tensor pre = bench.empty({16, 32});
    Tensor act = bench.copy(dact);
    bench.device.run(ActivateBackward{kind, pre, act, nullptr, &kept.codes, &kept.scale});
    EXPECT_EQ(values_of(pre), values_of(expected));
    EXPECT_EQ(values_of(act), values_of(expected_act));
  }
}

}  // namespace
}  // namespace vramfit
