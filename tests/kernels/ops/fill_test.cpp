#include <gtest/gtest.h>

#include <cmath>

#include "model/ops/random.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

TEST(FillNormal, DrawsByIndexAndClearsPadding) {
  for (const DType dtype : {DType::Fp64, DType::Fp32}) {
    Workbench bench(dtype);
    Tensor tensor = bench.empty({3, 2}, {5, 2});
    bench.device.run(FillNormal{tensor, 0.0F, 0.5F, 42});
    const std::vector<double> values = values_of(tensor);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(values[i], i < 6 ? static_cast<double>(0.5F * random_normal(42, i)) : 0) << i;
    }
  }
}

TEST(FillNormal, HasTheMeanAndDeviationAskedFor) {
  Workbench bench(DType::Fp32);
  Tensor tensor = bench.empty({100, 1000});
  bench.device.run(FillNormal{tensor, 3.0F, 0.5F, 7});
  const std::vector<double> values = values_of(tensor);
  double sum = 0;
  double squares = 0;
  for (const double v : values) {
    sum += v - 3;
    squares += (v - 3) * (v - 3);
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / count), 0.5, 0.01);
}

TEST(FillTokens, AreOfTheVocabularyAndAllOfIt) {
  Workbench bench;
  const Tensor tokens = bench.random_tokens({4, 50}, 7);
  std::vector<int> seen(7);
  for (const double token : values_of(tokens)) {
    ASSERT_GE(token, 0);
    ASSERT_LT(token, 7);
    ++seen[static_cast<std::size_t>(token)];
  }
  for (const int count : seen) EXPECT_GT(count, 10);
}

TEST(Device, MovesNoMoreThanATensorHolds) {
  Workbench bench(DType::Fp32);
  const Tensor tensor = bench.empty({2});
  std::vector<float> values = {1.5F, -2.0F, 3.0F};
  bench.device.upload(tensor, values.data(), 8);
  EXPECT_EQ(values_of(tensor), (std::vector<double>{1.5, -2}));
  values = {0, 0, 0};
  bench.device.download(values.data(), tensor, 4);
  EXPECT_EQ(values, (std::vector<float>{1.5F, 0, 0}));
  EXPECT_THROW(bench.device.upload(tensor, values.data(), 12), std::logic_error);
  EXPECT_THROW(bench.device.download(values.data(), tensor, 12), std::logic_error);
}

}  // namespace
}  // namespace vramfit
