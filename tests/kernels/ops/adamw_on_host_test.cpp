#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/host/adamw_update.h"
#include "tests/kernels/support/update_case.h"

namespace vramfit {
namespace {

/// A block of the host's update and some more.
constexpr std::int64_t kCount = 1500;

OptimizerSettings settings() {
  OptimizerSettings settings;
  settings.learning_rate = 1e-2F;
  return settings;
}

std::vector<double> numbers(int seed) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const double x = std::sin(static_cast<double>(seed * 7919 + i) * 12.9898) * 43758.5453;
    // From what is subnormal in fp16 to what is large.
    values.push_back((x - std::floor(x) - 0.5) * std::pow(10.0, static_cast<double>(i % 9) - 6));
  }
  return values;
}

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  const auto* const first = tensor.as<std::byte>();
  return {first, first + tensor.bytes()};
}

/// The parameter of an UpdateCase, and the states that the host keeps of it.
class OnHost {
 public:
  explicit OnHost(DType dtype)
      : format_(dtype),
        weights_(bench_.tensor(dtype, {kCount})),
        gradients_(bench_.tensor(dtype, {kCount})),
        momentum_(bench_.floats({kCount})),
        variance_(bench_.floats({kCount})) {
    set_values(weights_, numbers(0));
  }

  void step(const HostStep& step, bool decays, const std::vector<double>& gradient,
            std::int64_t split) {
    set_values(gradients_, gradient);
    const HostElements all{
        weights_.data(), gradients_.data(), momentum_.as<float>(), variance_.as<float>(), kCount,
        decays};
    adamw_on_host(step, format_, all.part(format_, 0, split));
    adamw_on_host(step, format_, all.part(format_, split, kCount - split));
  }

  const Tensor& weights() const { return weights_; }
  const Tensor& momentum() const { return momentum_; }
  const Tensor& variance() const { return variance_; }

 private:
  Workbench bench_;
  Format format_;
  Tensor weights_;
  Tensor gradients_;
  Tensor momentum_;
  Tensor variance_;
};

class AdamWOnHost : public testing::TestWithParam<DType> {};

// Both round every operation for itself, in the same order.
TEST_P(AdamWOnHost, HasThePlainLoopsBits) {
  for (const bool decays : {false, true}) {
    UpdateCase loops(optimizer_named("adamw"), GetParam(), numbers(0), settings(), decays);
    OnHost host(GetParam());
    for (int step = 1; step <= 5; ++step) {
      const std::vector<double> gradient = numbers(step);
      loops.step(gradient);
      host.step(HostStep(settings(), step), decays, gradient, step * 251);
      ASSERT_EQ(bytes_of(host.weights()), bytes_of(loops.parameter)) << step;
      ASSERT_EQ(bytes_of(host.momentum()), bytes_of(loops.momentum)) << step;
      ASSERT_EQ(bytes_of(host.variance()), bytes_of(loops.variance)) << step;
    }
  }
}

TEST_P(AdamWOnHost, DividesGradientsByTheirScale) {
  OnHost plain(GetParam());
  OnHost scaled(GetParam());
  std::vector<double> gradient(kCount, 0.25);
  plain.step(HostStep(settings(), 1), true, gradient, 7);
  for (double& value : gradient) value *= 64;
  HostStep step(settings(), 1);
  step.inverse_scale = 1.0F / 64;
  scaled.step(step, true, gradient, 7);
  EXPECT_EQ(bytes_of(scaled.weights()), bytes_of(plain.weights()));
}

TEST_P(AdamWOnHost, SkipsAStepButStartsItsStates) {
  OnHost host(GetParam());
  const std::vector<std::byte> before = bytes_of(host.weights());
  HostStep step(settings(), 1);
  step.skips = true;
  host.step(step, true, std::vector<double>(kCount, INFINITY), 7);
  EXPECT_EQ(bytes_of(host.weights()), before);
  for (const Tensor* state : {&host.momentum(), &host.variance()}) {
    EXPECT_EQ(values_of(*state), std::vector<double>(kCount, 0));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, AdamWOnHost,
                         testing::Values(DType::Fp32, DType::Fp16, DType::Bf16),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST(AdamWOnHost, RefusesOtherFormats) {
  EXPECT_THROW(adamw_on_host(HostStep({}, 1), DType::Fp64, {}), std::logic_error);
}

}  // namespace
}  // namespace vramfit
