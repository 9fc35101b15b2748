#include "estimator/ask/trainer.h"

namespace vramfit {
namespace {

bool is_a_trainers(const Options& options, const char* flag) {
  const auto typed = options.typed.find(flag);
  return typed != options.typed.end() && (typed->second == "bf16" || typed->second == "fp16");
}

/// accelerate/utils/fsdp_utils.py, fsdp2_prepare_model: what is trained is upcast, and
/// MixedPrecisionPolicy casts.
void shard_in_mixed_precision(Flags& flags) {
  const std::string type = *typed(flags, "autocast");
  flags.erase("autocast");
  flags.try_emplace("mixed-precision", type);
  flags.try_emplace("precision", "fp32");
}

}  // namespace

void run_as_a_trainer(const Options& options, const Runtime& runtime, Flags& flags) {
  // Of what the model gives, Trainer.compute_loss passes on no more.
  const bool can = options.train && runtime.knows("loss-only");
  if (can && options.of_a_trainer) flags.try_emplace("loss-only", "");
  const bool sharded = typed(flags, "strategy").value_or("").starts_with("fsdp");
  if (sharded && is_a_trainers(options, "autocast")) shard_in_mixed_precision(flags);
}

}  // namespace vramfit
