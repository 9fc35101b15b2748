#include <gtest/gtest.h>

#include "model/config/hugging_face.h"
#include "model/transformer/embedding.h"
#include "model/transformer/generation.h"
#include "model/transformer/head.h"
#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/safetensors.h"
#include "tests/kernels/support/workbench.h"

// Three tiny models against transformers and PyTorch, see tests/fixtures/README.md.

namespace vramfit {
namespace {

/// The fixture's bound in fp32; measured errors are below a tenth of it.
constexpr double kBound = 1e-5;

using ModelAndForm = std::tuple<std::string, AttentionForm>;

class FixtureTest : public testing::TestWithParam<ModelAndForm> {
 protected:
  void load(Weights& weights) {
    for (Parameter& parameter : weights.all()) {
      const std::vector<double>& values = reference.values("param/" + parameter.spec.name.text());
      ASSERT_EQ(values.size(), static_cast<std::size_t>(parameter.spec.shape.elements()));
      const std::vector<float> floats(values.begin(), values.end());
      host.device.upload(parameter.value, floats.data(), floats.size() * sizeof(float));
    }
  }

  /// The logits of every token that `x` holds, without padding.
  std::vector<double> logits_of(Model& model, Tensor x) {
    const std::int64_t tokens = x.shape()[0];
    const Tensor logits = last_logits(model, std::move(x), tokens, 1);
    const std::vector<double> padded = values_of(logits);
    std::vector<double> result;
    for (std::size_t i = 0; i < padded.size(); ++i) {
      if (i % static_cast<std::size_t>(logits.shape()[1]) <
          static_cast<std::size_t>(config.vocab)) {
        result.push_back(padded[i]);
      }
    }
    return result;
  }

  const std::string folder = "tiny-" + std::get<0>(GetParam());
  const AttentionForm form = std::get<1>(GetParam());
  const Safetensors reference{fixture(folder + "/reference.safetensors")};
  const ModelConfig config = read_hugging_face(fixture(folder + "/config.json"));
  const std::int64_t batch = reference.at("tokens").shape[0];
  const std::int64_t seq = reference.at("tokens").shape[1];
  const std::int64_t generate = reference.at("generated").shape[1];
  Host host;
};

TEST_P(FixtureTest, HoldsEveryParameterOnce) {
  std::size_t parameters = 0;
  for (const auto& [name, entry] : reference.all()) parameters += name.rfind("param/", 0) == 0;
  EXPECT_EQ(parameters, parameter_specs(config).size());
}

TEST_P(FixtureTest, LossAndEveryGradient) {
  TrainingOptions options;
  options.precision = DType::Fp32;
  options.attention = form;
  options.batch = batch;
  options.seq = seq;
  Trainer trainer(host.device, host.ledger, config, options);
  load(trainer.model().weights);
  trainer.forward_and_backward(
      fixed_batch(reference.integers("tokens"), reference.integers("targets")));

  EXPECT_LT(relative_error({trainer.loss()}, reference.values("loss")), kBound);
  for (const Parameter& parameter : trainer.model().weights.all()) {
    const std::string name = parameter.spec.name.text();
    std::vector<double> gradient = values_of(parameter.gradient);
    const std::vector<double>& expected = reference.values("grad/" + name);
    for (std::size_t i = expected.size(); i < gradient.size(); ++i) {
      ASSERT_EQ(gradient[i], 0) << name << "'s padding";
    }
    gradient.resize(expected.size());
    EXPECT_LT(relative_error(gradient, expected), kBound) << name;
  }
}

TEST_P(FixtureTest, Logits) {
  Runtime runtime(host.device, host.ledger, DType::Fp32);
  Model model(runtime, config);
  load(model.weights);
  const Tensor tokens(host.ledger, "tokens", Category::Inputs, DType::Int32, {batch, seq});
  host.device.upload(tokens, reference.integers("tokens").data(), tokens.bytes());
  Tensor x = embed(model, tokens, 0);
  for (int layer = 0; layer < config.layers; ++layer) {
    x = block_forward(model, layer, {form, batch, seq}, std::move(x), nullptr);
  }
  EXPECT_LT(relative_error(logits_of(model, std::move(x)), reference.values("logits")), kBound);
}

TEST_P(FixtureTest, GreedyGeneration) {
  GenerationOptions options;
  options.precision = DType::Fp32;
  options.attention = form;
  options.batch = batch;
  options.seq = seq;
  options.generate = generate;
  Generator generator(host.device, host.ledger, config, options);
  load(generator.model().weights);
  generator.prefill([this](Device& device, Tensor& tokens) {
    device.upload(tokens, reference.integers("tokens").data(), tokens.bytes());
  });
  const std::vector<double>& expected = reference.values("generated");
  for (std::int64_t step = 0; step < generate; ++step) {
    if (step > 0) generator.decode();
    const std::vector<double> next = values_of(generator.next_tokens());
    for (std::int64_t b = 0; b < batch; ++b) {
      EXPECT_EQ(next[static_cast<std::size_t>(b)],
                expected[static_cast<std::size_t>(b * generate + step)])
          << "token " << step << " of sequence " << b;
    }
  }
  EXPECT_THROW(generator.decode(), std::logic_error);
}

/// The logits behind each generated token, which a Generator does not show.
TEST_P(FixtureTest, LogitsOfGeneration) {
  Runtime runtime(host.device, host.ledger, DType::Fp32);
  Model model(runtime, config);
  load(model.weights);
  const auto count = static_cast<std::size_t>(generate);
  const auto vocab = static_cast<std::size_t>(config.vocab);
  KvCache cache(runtime, config, batch, seq + generate - 1);
  Tensor tokens(host.ledger, "prompt", Category::Inputs, DType::Int32, {batch, seq});
  host.device.upload(tokens, reference.integers("tokens").data(), tokens.bytes());
  for (std::size_t step = 0; step < count; ++step) {
    const std::int64_t new_tokens = tokens.shape()[1];
    Tensor x = embed(model, tokens, cache.length);
    for (int layer = 0; layer < config.layers; ++layer) {
      x = block_forward(model, layer, {form, batch, new_tokens, &cache}, std::move(x), nullptr);
    }
    cache.length += new_tokens;
    Tensor last = runtime.activation("last", {batch, config.hidden});
    host.device.run(LastToken{x, new_tokens, last});
    const std::vector<double> logits = logits_of(model, std::move(last));

    std::vector<double> expected;
    std::vector<std::int32_t> next;
    for (std::size_t b = 0; b < static_cast<std::size_t>(batch); ++b) {
      const auto row = reference.values("generated_logits").begin() +
                       static_cast<std::ptrdiff_t>((b * count + step) * vocab);
      expected.insert(expected.end(), row, row + static_cast<std::ptrdiff_t>(vocab));
      next.push_back(reference.integers("generated")[b * count + step]);
    }
    EXPECT_LT(relative_error(logits, expected), kBound) << "token " << step;
    tokens = Tensor(host.ledger, "next", Category::Inputs, DType::Int32, {batch, 1});
    host.device.upload(tokens, next.data(), tokens.bytes());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, FixtureTest,
    testing::Combine(testing::Values("llama", "qwen2", "gpt2"),
                     testing::Values(AttentionForm::Flash, AttentionForm::Cublas)),
    [](const auto& test) { return std::get<0>(test.param) + "_" + name(std::get<1>(test.param)); });

}  // namespace
}  // namespace vramfit
