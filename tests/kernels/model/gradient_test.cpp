#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "model/transformer/embedding.h"
#include "model/transformer/head.h"
#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/tiny_models.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kSeq = 4;  // a token weighs 1/8, which is exact in a float

using ModelAndForm = std::tuple<std::string, AttentionForm>;

class WholeModelTest : public testing::TestWithParam<ModelAndForm> {
 protected:
  const ModelConfig config = tiny_model(std::get<0>(GetParam()));
  const AttentionForm form = std::get<1>(GetParam());
  const std::vector<std::int32_t> tokens = random_tokens(kBatch * kSeq, config.vocab, 1);
  const std::vector<std::int32_t> targets = random_tokens(kBatch * kSeq, config.vocab, 2);

  TrainingOptions options(DType precision) const {
    TrainingOptions result;
    result.precision = precision;
    result.attention = form;
    result.batch = kBatch;
    result.seq = kSeq;
    return result;
  }
};

/// The mean cross entropy from nothing but the logits: no chunks, no head op.
double loss_from_logits(Model& model, const Tensor& tokens, const Sequence& sequence,
                        const std::vector<std::int32_t>& targets) {
  Tensor x = embed(model, tokens, nullptr);
  for (int layer = 0; layer < model.config.layers; ++layer) {
    x = block_forward(model, layer, sequence, std::move(x), nullptr);
  }
  const Tensor logits = last_logits(model, std::move(x), sequence.tokens(), 1, nullptr);
  double loss = 0;
  for (std::int64_t n = 0; n < sequence.tokens(); ++n) {
    const auto* row = logits.as<double>() + n * logits.shape()[1];
    double sum = 0;
    for (std::int64_t v = 0; v < model.config.vocab; ++v) sum += std::exp(row[v]);
    loss += std::log(sum) - row[targets[static_cast<std::size_t>(n)]];
  }
  return loss / static_cast<double>(sequence.tokens());
}

TEST_P(WholeModelTest, EveryGradientIsTheDerivative) {
  Host host;
  Trainer trainer(host.device, host.ledger, config, options(DType::Fp64));
  Weights& weights = trainer.model().weights;
  randomize(host.device, weights);
  trainer.forward_and_backward(fixed_batch(tokens, targets));

  const Tensor inputs(host.ledger, "tokens", Category::Inputs, DType::Int32, {kBatch, kSeq});
  host.device.upload(inputs, tokens.data(), inputs.bytes());
  const auto loss = [&] {
    return loss_from_logits(trainer.model(), inputs, {form, kBatch, kSeq}, targets);
  };
  EXPECT_NEAR(trainer.loss(), loss(), 1e-12);
  for (const Parameter& parameter : weights.all()) {
    SCOPED_TRACE(parameter.spec.name.text());
    std::vector<double> gradient = values_of(parameter.gradient);
    const auto elements = static_cast<std::size_t>(parameter.spec.shape.elements());
    for (std::size_t i = elements; i < gradient.size(); ++i) ASSERT_EQ(gradient[i], 0);
    gradient.resize(elements);
    expect_gradient(parameter.value, gradient, loss);
  }
}

/// The same ops in the other dtypes, against fp64 from the same parameters (rounded to 16 bits, so
/// that every dtype holds them).
TEST_P(WholeModelTest, EveryPrecisionComesNearFp64) {
  std::vector<std::vector<double>> parameters;
  std::vector<std::vector<double>> expected;
  const auto run = [&](DType precision) {
    Host host;
    Trainer trainer(host.device, host.ledger, config, options(precision));
    Weights& weights = trainer.model().weights;
    if (parameters.empty()) {
      randomize(host.device, weights);
      Workbench narrow(DType::Bf16);
      for (const Parameter& parameter : weights.all()) {
        Tensor rounded = narrow.empty(parameter.spec.stored);
        set_values(rounded, values_of(parameter.value));
        parameters.push_back(values_of(rounded));
      }
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      set_values(weights.all()[i].value, parameters[i]);
    }
    trainer.forward_and_backward(fixed_batch(tokens, targets));
    std::vector<std::vector<double>> gradients = gradients_of(weights);
    // fp16's gradients are of the scaled loss.
    for (std::vector<double>& gradient : gradients) {
      for (double& g : gradient) g /= precision == DType::Fp16 ? double{LossScale::kInitial} : 1.0;
    }
    gradients.push_back({trainer.loss()});
    return gradients;
  };
  expected = run(DType::Fp64);
  for (const auto& [precision, bound] :
       {std::pair{DType::Fp32, 1e-5}, {DType::Fp16, 1e-2}, {DType::Bf16, 8e-2}}) {
    const std::vector<std::vector<double>> gradients = run(precision);
    // The key third of gpt2's qkv bias is zero by theory and noise in practice, small beside the
    // rest of the tensor.
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      EXPECT_LT(relative_error(gradients[i], expected[i]), bound) << name(precision) << ", " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, WholeModelTest,
    testing::Combine(testing::Values("llama", "qwen2", "qwen3", "gpt2"),
                     testing::Values(AttentionForm::Flash, AttentionForm::Cublas)),
    [](const auto& test) { return std::get<0>(test.param) + "_" + name(std::get<1>(test.param)); });

}  // namespace
}  // namespace vramfit
