#pragma once

#include <string>

#include "model/transformer/training.h"
#include "tests/kernels/support/safetensors.h"

namespace vramfit {

/// A tiny model against transformers and PyTorch, see tests/fixtures/README.md, on any device in
/// fp32. Each check expects relative errors below `bound`.
class FixtureChecks {
 public:
  /// `device` and `ledger` must outlive this. `model`: "llama", "qwen2", "qwen3" or "gpt2".
  FixtureChecks(Device& device, Ledger& ledger, const std::string& model, AttentionForm form,
                double bound);

  void has_every_parameter_once() const;
  void loss_and_every_gradient();
  /// The same with PEFT's adapters beside every linear, whose gradients alone there are.
  void adapters();
  void logits();
  void greedy_generation();
  /// The logits of each generated token, which a Generator does not show.
  void logits_of_generation();

 private:
  std::vector<double> values_of(const Tensor& tensor);
  /// Parameters that `from` has.
  void load(const Safetensors& from, Weights& weights);
  /// Expects every trained parameter's gradient to be as in `expected`.
  void compare_gradients(Trainer& trainer, const Safetensors& expected);
  Tensor tokens(const char* name);
  /// The logits of every token that `x` holds, without padding.
  std::vector<double> logits_of(Model& model, Tensor x);

  Device& device_;
  Ledger& ledger_;
  const std::string folder_;
  const AttentionForm form_;
  const double bound_;
  const Safetensors reference_;
  const ModelConfig config_;
  const std::int64_t batch_;
  const std::int64_t seq_;
  const std::int64_t generate_;
};

}  // namespace vramfit
