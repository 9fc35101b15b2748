#include <gtest/gtest.h>

#include "tests/kernels/support/fixture_checks.h"
#include "tests/kernels/support/host_run.h"

namespace vramfit {
namespace {

/// The fixture's bound in fp32; measured errors are below a tenth of it.
constexpr double kBound = 1e-5;

using ModelAndForm = std::tuple<std::string, AttentionForm>;

class FixtureTest : public testing::TestWithParam<ModelAndForm> {
 protected:
  Host host;
  FixtureChecks checks{host.device, host.ledger, std::get<0>(GetParam()), std::get<1>(GetParam()),
                       kBound};
};

TEST_P(FixtureTest, HoldsEveryParameterOnce) { checks.has_every_parameter_once(); }
TEST_P(FixtureTest, LossAndEveryGradient) { checks.loss_and_every_gradient(); }
TEST_P(FixtureTest, Logits) { checks.logits(); }
TEST_P(FixtureTest, GreedyGeneration) { checks.greedy_generation(); }
TEST_P(FixtureTest, LogitsOfGeneration) { checks.logits_of_generation(); }

class LoraFixtureTest : public FixtureTest {};

TEST_P(LoraFixtureTest, LossAndEveryGradientOfAdapters) { checks.adapters(); }

INSTANTIATE_TEST_SUITE_P(
    Models, LoraFixtureTest,
    testing::Combine(testing::Values("llama", "gpt2"),
                     testing::Values(AttentionForm::Flash, AttentionForm::Cublas)),
    [](const auto& test) { return std::get<0>(test.param) + "_" + name(std::get<1>(test.param)); });

INSTANTIATE_TEST_SUITE_P(
    Models, FixtureTest,
    testing::Combine(testing::Values("llama", "qwen2", "qwen3", "gpt2"),
                     testing::Values(AttentionForm::Flash, AttentionForm::Cublas)),
    [](const auto& test) { return std::get<0>(test.param) + "_" + name(std::get<1>(test.param)); });

}  // namespace
}  // namespace vramfit
