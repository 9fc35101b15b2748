#include "tests/kernels/support/fixture_checks.h"

#include <gtest/gtest.h>

#include "model/config/hugging_face.h"
#include "model/transformer/embedding.h"
#include "model/transformer/generation.h"
#include "model/transformer/head.h"
#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {

FixtureChecks::FixtureChecks(Device& device, Ledger& ledger, const std::string& model,
                             AttentionForm form, double bound)
    : device_(device),
      ledger_(ledger),
      folder_("tiny-" + model),
      form_(form),
      bound_(bound),
      reference_(fixture(folder_ + "/reference.safetensors")),
      config_(read_hugging_face(fixture(folder_ + "/config.json"))),
      batch_(reference_.at("tokens").shape[0]),
      seq_(reference_.at("tokens").shape[1]),
      generate_(reference_.at("generated").shape[1]) {}

void FixtureChecks::has_every_parameter_once() const {
  std::size_t parameters = 0;
  for (const auto& [name, entry] : reference_.all()) parameters += name.rfind("param/", 0) == 0;
  EXPECT_EQ(parameters, parameter_specs(config_).size());
}

void FixtureChecks::loss_and_every_gradient() {
  TrainingOptions options;
  options.precision = DType::Fp32;
  options.attention = form_;
  options.batch = batch_;
  options.seq = seq_;
  Trainer trainer(device_, ledger_, config_, options);
  load(reference_, trainer.model().weights);
  trainer.forward_and_backward(
      fixed_batch(reference_.integers("tokens"), reference_.integers("targets")));

  compare_gradients(trainer, reference_);
}

void FixtureChecks::adapters() {
  const Safetensors adapters(fixture(folder_ + "/adapters.safetensors"));
  TrainingOptions options;
  options.precision = DType::Fp32;
  options.attention = form_;
  options.batch = batch_;
  options.seq = seq_;
  options.lora = LoraOptions{3, 5.0F, lora_targets(config_)};
  Trainer trainer(device_, ledger_, config_, options);
  load(reference_, trainer.model().weights);
  load(adapters, trainer.model().weights);
  trainer.forward_and_backward(
      fixed_batch(reference_.integers("tokens"), reference_.integers("targets")));
  compare_gradients(trainer, adapters);
}

void FixtureChecks::compare_gradients(Trainer& trainer, const Safetensors& expected) {
  EXPECT_LT(relative_error({trainer.loss()}, expected.values("loss")), bound_);
  for (const Parameter* parameter : trainer.model().weights.trained()) {
    const std::string name = parameter->spec.name.text();
    std::vector<double> gradient = values_of(parameter->gradient);
    const std::vector<double>& theirs = expected.values("grad/" + name);
    for (std::size_t i = theirs.size(); i < gradient.size(); ++i) {
      ASSERT_EQ(gradient[i], 0) << name << "'s padding";
    }
    gradient.resize(theirs.size());
    EXPECT_LT(relative_error(gradient, theirs), bound_) << name;
  }
}

void FixtureChecks::logits() {
  OpContext context(device_, ledger_, Precisions::plain(DType::Fp32));
  Model model(context, config_);
  load(reference_, model.weights);
  Tensor x = embed(model, tokens("tokens"), nullptr);
  for (int layer = 0; layer < config_.layers; ++layer) {
    x = block_forward(model, layer, {form_, batch_, seq_}, std::move(x), nullptr);
  }
  EXPECT_LT(relative_error(logits_of(model, std::move(x)), reference_.values("logits")), bound_);
}

void FixtureChecks::greedy_generation() {
  GenerationOptions options;
  options.precision = DType::Fp32;
  options.attention = form_;
  options.batch = batch_;
  options.seq = seq_;
  options.generate = generate_;
  Generator generator(device_, ledger_, config_, options);
  load(reference_, generator.model().weights);
  generator.prefill([this](Device& device, Tensor& prompt) {
    device.upload(prompt, reference_.integers("tokens").data(), prompt.bytes());
  });
  const std::vector<double>& expected = reference_.values("generated");
  for (std::int64_t step = 0; step < generate_; ++step) {
    if (step > 0) generator.decode();
    const std::vector<double> next = values_of(generator.next_tokens());
    for (std::int64_t b = 0; b < batch_; ++b) {
      EXPECT_EQ(next[static_cast<std::size_t>(b)],
                expected[static_cast<std::size_t>(b * generate_ + step)])
          << "token " << step << " of sequence " << b;
    }
  }
  EXPECT_THROW(generator.decode(), std::logic_error);
}

void FixtureChecks::logits_of_generation() {
  OpContext context(device_, ledger_, Precisions::plain(DType::Fp32));
  Model model(context, config_);
  load(reference_, model.weights);
  const auto count = static_cast<std::size_t>(generate_);
  const auto vocab = static_cast<std::size_t>(config_.vocab);
  const std::vector<std::int64_t> prompts(static_cast<std::size_t>(batch_), seq_);
  KvCache cache(context, config_, prompts, seq_ + generate_ - 1, 0);
  Tensor input = tokens("tokens");
  for (std::size_t step = 0; step < count; ++step) {
    const std::int64_t new_tokens = input.shape()[1];
    const Sequence sequence{form_, batch_, new_tokens, &cache};
    Tensor x = embed(model, input, sequence.starts());
    for (int layer = 0; layer < config_.layers; ++layer) {
      x = block_forward(model, layer, sequence, std::move(x), nullptr);
    }
    if (cache.filled()) cache.advance(device_, 1);
    cache.fill();
    Tensor last = context.activation("last", {batch_, config_.hidden});
    device_.run(LastToken{x, new_tokens, nullptr, last});
    const std::vector<double> logits = logits_of(model, std::move(last));

    std::vector<double> expected;
    std::vector<std::int32_t> next;
    for (std::size_t b = 0; b < static_cast<std::size_t>(batch_); ++b) {
      const auto row = reference_.values("generated_logits").begin() +
                       static_cast<std::ptrdiff_t>((b * count + step) * vocab);
      expected.insert(expected.end(), row, row + static_cast<std::ptrdiff_t>(vocab));
      next.push_back(reference_.integers("generated")[b * count + step]);
    }
    EXPECT_LT(relative_error(logits, expected), bound_) << "token " << step;
    input = Tensor(ledger_, "next", Category::Inputs, DType::Int32, {batch_, 1});
    device_.upload(input, next.data(), input.bytes());
  }
}

std::vector<double> FixtureChecks::values_of(const Tensor& tensor) {
  return downloaded_values(device_, tensor);
}

void FixtureChecks::load(const Safetensors& from, Weights& weights) {
  for (Parameter& parameter : weights.all()) {
    const std::string name = "param/" + parameter.spec.name.text();
    if (from.all().count(name) == 0) continue;
    const std::vector<double>& values = from.values(name);
    ASSERT_EQ(values.size(), static_cast<std::size_t>(parameter.spec.shape.elements()));
    const std::vector<float> floats(values.begin(), values.end());
    device_.upload(parameter.value, floats.data(), floats.size() * sizeof(float));
  }
}

Tensor FixtureChecks::tokens(const char* name) {
  Tensor tensor(ledger_, "tokens", Category::Inputs, DType::Int32, {batch_, seq_});
  device_.upload(tensor, reference_.integers(name).data(), tensor.bytes());
  return tensor;
}

std::vector<double> FixtureChecks::logits_of(Model& model, Tensor x) {
  const std::int64_t tokens = x.shape()[0];
  const Tensor logits = last_logits(model, std::move(x), tokens, 1, nullptr);
  const std::vector<double> padded = values_of(logits);
  std::vector<double> result;
  for (std::size_t i = 0; i < padded.size(); ++i) {
    if (i % static_cast<std::size_t>(logits.shape()[1]) < static_cast<std::size_t>(config_.vocab)) {
      result.push_back(padded[i]);
    }
  }
  return result;
}

}  // namespace vramfit
