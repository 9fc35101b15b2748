#include <gtest/gtest.h>

#include "model/transformer/generation.h"
#include "tests/kernels/support/host_run.h"
#include "tests/kernels/support/tiny_models.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

/// Sizes that every format goes with, and vocabulary rows that are padded.
ModelConfig model() {
  ModelConfig config = small_llama();
  config.vocab = 150;
  return config;
}

struct Generated {
  std::vector<double> logits;
  std::vector<Event> events;
};

Generated generate(const ModelPrecision& precision, bool quantize_head,
                   const ParameterSource& source) {
  Host host(HostSource::kDefaultCapacity, Arch{90});  // fp8 needs one
  GenerationOptions options;
  options.precision = precision;
  options.quantize_head = quantize_head;
  options.seq = 5;
  Generated generated;
  {
    Generator generator(host.device, host.ledger, model(), options, source);
    generator.prefill(
        [](Device& on, Tensor& tokens) {
          on.run(FillTokens{tokens, model().vocab, 3});
        },
        [&](Device& on, const Tensor& logits) {
          generated.logits = downloaded_values(on, logits);
        });
  }
  generated.events = host.ledger.events();
  return generated;
}

/// Of an fp32 model with weights as they are drawn, by their number.
std::vector<std::vector<double>> drawn() {
  Host host;
  GenerationOptions options;
  options.precision = DType::Fp32;
  options.seq = 1;
  Generator generator(host.device, host.ledger, model(), options);
  std::vector<std::vector<double>> values;
  for (const Parameter& parameter : generator.model().weights.all()) {
    values.push_back(downloaded_values(host.device, parameter.value));
  }
  return values;
}

// So that a trained model's weights are rounded and quantised as drawn ones are.
TEST(GivenWeights, AreLoadedAsTheSameDrawnOnesInEveryPrecision) {
  const std::vector<std::vector<double>> values = drawn();
  const ParameterSource given = [&](Device&, const ParameterPart& part, Tensor& to) {
    const auto first = values[part.number].begin() + part.first;
    set_values(to, {first, first + to.stored().elements()});
  };
  for (const ModelPrecision& precision : model_precisions()) {
    if (precision.activations == DType::Fp64) continue;  // drawn in fp64
    for (const bool quantize_head : {false, true}) {
      if (quantize_head && !precision.quantized()) continue;
      const Generated one = generate(precision, quantize_head, draw_parameter);
      const Generated other = generate(precision, quantize_head, given);
      EXPECT_EQ(one.logits, other.logits) << precision.name;
      EXPECT_FALSE(first_difference(one.events, other.events)) << precision.name;
    }
  }
}

}  // namespace
}  // namespace vramfit
