#include "runtimes/pytorch/read_distributed.h"

#include "model/errors.h"
#include "model/quantity.h"
#include "runtimes/parallel_flags.h"
#include "runtimes/pytorch/options.h"

namespace vramfit::pytorch {
namespace {

/// The Trainer's and accelerate launch's FSDP.
constexpr const char* kByAccelerate = "fsdp-accelerate";

Strategy parse_strategy(const std::string& text) {
  if (text == "data-parallel") return Strategy::Ddp;
  for (const Strategy strategy : {Strategy::Ddp, Strategy::Zero1, Strategy::Fsdp}) {
    if (text == name(strategy)) return strategy;
  }
  if (text == "pipeline") {
    throw BadInput(
        "strategy: PyTorch trains in a pipeline only as a script cuts the model; nearest: fsdp, or "
        "in inference --device-map auto");
  }
  if (text.starts_with("tensor")) {
    throw BadInput("strategy: tensor parallelism is not predicted yet; nearest: fsdp");
  }
  if (text == "zero2" || text == "zero3" || text == "deepspeed") {
    throw BadInput("strategy: " + text +
                   " is DeepSpeed's, not predicted yet; nearest: fsdp, or zero1, PyTorch's own");
  }
  throw BadInput("strategy: unknown '" + text +
                 "' under pytorch; ddp, zero1, fsdp or fsdp-accelerate");
}

bool parse_truth(const char* flag, const std::string& text) {
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  throw BadInput(std::string(flag) + ": is '" + text + "'; true or false");
}

ScalarType half_or_float(const char* flag, const std::string& text) {
  if (text == "fp32") return ScalarType::Float;
  if (text == "fp16") return ScalarType::Half;
  if (text == "bf16") return ScalarType::BFloat16;
  throw BadInput(std::string(flag) + ": unknown '" + text + "'; fp32, fp16 or bf16");
}

ScalarType stored_type(DType precision) {
  return half_or_float("precision", vramfit::name(precision));
}

/// FullyShardedDataParallelPlugin.set_mixed_precision reduces in what it computes in.
std::optional<MixedPrecision> mixed_precision(const Flags& flags, bool by_accelerate) {
  const auto param = typed(flags, "mixed-precision");
  const auto reduce = typed(flags, "reduce-dtype");
  if (!param) {
    if (reduce) throw BadInput("reduce-dtype: only with --mixed-precision");
    return std::nullopt;
  }
  return MixedPrecision{
      half_or_float("mixed-precision", *param),
      half_or_float("reduce-dtype", reduce.value_or(by_accelerate ? *param : "fp32"))};
}

void only_under(const Flags& flags, std::initializer_list<const char*> names, bool condition,
                const char* strategy) {
  for (const char* name : names) {
    if (has(flags, name) && !condition) {
      throw BadInput(std::string(name) + ": only with --gpus 2 or more and --strategy " + strategy);
    }
  }
}

void refuse_beside_fsdp(const TrainingOptions& options) {
  const auto refuse = [](const char* what) {
    throw BadInput(std::string(what) +
                   " with fsdp is not predicted yet; --strategy ddp, or without");
  };
  if (options.lora) refuse("lora:");
  using Kind = OptimizerKind;
  const bool known = options.optimizer == Kind::AdamW || options.optimizer == Kind::AdamWFused ||
                     options.optimizer == Kind::AdamWLoop || options.optimizer == Kind::Sgd ||
                     options.optimizer == Kind::SgdMomentum;
  if (!known) refuse(("optimizer: " + std::string(name(options.optimizer))).c_str());
  if (options.pretrained) refuse("device-map:");
  if (options.checkpoint == Checkpointing::Reentrant) {
    throw BadInput("checkpoint: fsdp needs full, which is use_reentrant=False");
  }
}

}  // namespace

std::vector<Flag> distributed_flags() {
  using With = Flag::With;
  return {
      {"gpus", With::Either, "so many GPUs, a batch on each (default 1)"},
      {"strategy", With::Either,
       "with --gpus: ddp (default), zero1, fsdp or fsdp-accelerate; in inference pipeline"},
      {"bucket-view", With::Training, "with ddp or zero1: gradient_as_bucket_view", false},
      {"bucket-cap-mb", With::Training, "with ddp or zero1: of a bucket (default 25)"},
      {"reshard-after-forward", With::Training, "with fsdp: true (default) or false"},
      {"mixed-precision", With::Training,
       "with fsdp: MixedPrecisionPolicy's param_dtype, bf16 or fp16, over --precision fp32"},
      {"reduce-dtype", With::Training, "with --mixed-precision: fp32 (default), bf16 or fp16"},
  };
}

const char* name(const Distributed& distributed) {
  return distributed.by_accelerate ? kByAccelerate : name(distributed.strategy);
}

const char* name(Strategy strategy) {
  return strategy == Strategy::Ddp ? "ddp" : strategy == Strategy::Zero1 ? "zero1" : "fsdp";
}

void read_distributed(const Flags& flags, TrainingOptions& options) {
  auto several = several_gpus(flags);
  if (several && several->gpus == 1) {
    if (several->strategy) throw BadInput("strategy: only with --gpus 2 or more");
    several.reset();
  }
  Distributed distributed;
  if (several) {
    const std::string named = several->strategy.value_or("ddp");
    distributed.by_accelerate = named == kByAccelerate;
    distributed.strategy = distributed.by_accelerate ? Strategy::Fsdp : parse_strategy(named);
  }
  const bool shards = several && distributed.strategy == Strategy::Fsdp;
  only_under(flags, {"bucket-view", "bucket-cap-mb"}, several && !shards, "ddp or zero1");
  only_under(flags, {"reshard-after-forward", "mixed-precision", "reduce-dtype"}, shards, "fsdp");
  if (!several) return;
  distributed.gpus = several->gpus;
  distributed.bucket_view = has(flags, "bucket-view");
  if (const auto cap = typed(flags, "bucket-cap-mb")) {
    constexpr std::int64_t kMostMib = std::int64_t{1} << 30;
    distributed.bucket_cap_mb = parse_whole("bucket-cap-mb", *cap);
    if (*distributed.bucket_cap_mb < 1 || *distributed.bucket_cap_mb > kMostMib) {
      throw BadInput("bucket-cap-mb: " + *cap + "; 1 or more MiB");
    }
  }
  if (const auto reshards = typed(flags, "reshard-after-forward")) {
    distributed.reshard_after_forward = parse_truth("reshard-after-forward", *reshards);
  }
  distributed.stored = stored_type(options.precision);
  distributed.mixed_precision = mixed_precision(flags, distributed.by_accelerate);
  if (distributed.by_accelerate && distributed.mixed_precision) {
    distributed.stored = ScalarType::Float;  // trainable parameters are upcast
    options.precision = DType::Fp32;
  }
  if (options.pretrained && options.pretrained->quantization) {
    throw BadInput(
        "quant: quantised weights on several GPUs are not predicted yet; without --gpus");
  }
  if (shards) refuse_beside_fsdp(options);
  if (distributed.mixed_precision && options.autocast) {
    throw BadInput("autocast and mixed-precision: one of them casts; without --autocast");
  }
  options.distributed = distributed;
}

void read_gpus(const Flags& flags, GenerationOptions& options) {
  constexpr std::int64_t kMostOfAHost = 16;
  const auto several = several_gpus(flags);
  if (!several || several->gpus == 1) return;
  if (several->strategy.value_or("pipeline") != "pipeline") {
    throw BadInput("strategy: '" + *several->strategy +
                   "' in inference is not predicted; pipeline, which is device_map=\"auto\"");
  }
  if (several->gpus > kMostOfAHost) {
    throw BadInput("gpus: " + std::to_string(several->gpus) + " in inference; at most " +
                   std::to_string(kMostOfAHost) + ", a host's");
  }
  if (options.pretrained && !options.pretrained->auto_device_map && has(flags, "device-map")) {
    throw BadInput("device-map: cuda is one GPU; auto with --gpus");
  }
  if (!options.pretrained) options.pretrained.emplace();
  options.pretrained->auto_device_map = true;
  options.pretrained->gpus = static_cast<int>(several->gpus);
}

}  // namespace vramfit::pytorch
