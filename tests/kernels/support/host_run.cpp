#include "tests/kernels/support/host_run.h"

#include "model/ops/random.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {

BatchLoader fixed_batch(std::vector<std::int32_t> tokens, std::vector<std::int32_t> targets) {
  return [tokens = std::move(tokens), targets = std::move(targets)](
             Device& device, Tensor& to_tokens, Tensor& to_targets) {
    device.upload(to_tokens, tokens.data(), tokens.size() * sizeof(std::int32_t));
    device.upload(to_targets, targets.data(), targets.size() * sizeof(std::int32_t));
  };
}

BatchLoader micro_batches(std::vector<std::int32_t> tokens, std::vector<std::int32_t> targets) {
  return [tokens = std::move(tokens), targets = std::move(targets), next = std::size_t{0}](
             Device& device, Tensor& to_tokens, Tensor& to_targets) mutable {
    const auto count = static_cast<std::size_t>(to_tokens.shape().elements());
    device.upload(to_tokens, tokens.data() + next, count * sizeof(std::int32_t));
    device.upload(to_targets, targets.data() + next, count * sizeof(std::int32_t));
    next = (next + count) % tokens.size();
  };
}

std::vector<std::int32_t> random_tokens(std::int64_t count, std::int64_t vocab,
                                        std::uint64_t seed) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    tokens.push_back(random_token(seed, static_cast<std::uint64_t>(i), vocab));
  }
  return tokens;
}

std::vector<std::vector<double>> gradients_of(const Weights& weights) {
  std::vector<std::vector<double>> gradients;
  for (const Parameter& parameter : weights.all()) {
    if (parameter.trained) {
      gradients.push_back(values_of(parameter.gradient));
    } else {
      gradients.emplace_back();
    }
  }
  return gradients;
}

void randomize(CpuDevice& device, Weights& weights) {
  std::uint64_t seed = 100;
  for (Parameter& parameter : weights.all()) {
    const bool is_matrix = parameter.spec.shape.rank() == 2;
    device.run(
        FillNormal{parameter.value, parameter.spec.start.mean, is_matrix ? 0.3F : 0.1F, seed++});
  }
}

}  // namespace vramfit
