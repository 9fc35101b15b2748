#include "runtimes/pytorch/read_distributed.h"

#include <nlohmann/json.hpp>

#include "model/errors.h"
#include "model/quantity.h"
#include "runtimes/parallel_flags.h"
#include "runtimes/pytorch/options.h"

namespace vramfit::pytorch {
namespace {

/// The Trainer's and accelerate launch's FSDP.
constexpr const char* kByAccelerate = "fsdp-accelerate";
constexpr const char* kTp = "tp";
constexpr const char* kPipeline = "pipeline";
constexpr const char* kOneForwardOneBackward = "1f1b";

DistributedStrategy parse_strategy(const std::string& text) {
  if (text == "data-parallel") return DistributedStrategy::Ddp;
  for (const DistributedStrategy strategy :
       {DistributedStrategy::Ddp, DistributedStrategy::Zero1, DistributedStrategy::Fsdp,
        DistributedStrategy::Tp, DistributedStrategy::Pipeline}) {
    if (text == name(strategy)) return strategy;
  }
  if (text == "zero2" || text == "zero3" || text == "deepspeed") {
    throw BadInput("strategy: " + text +
                   " is DeepSpeed's, not predicted yet; vramfit run runs a script with it; "
                   "nearest: fsdp, or zero1, PyTorch's own");
  }
  throw BadInput("strategy: unknown '" + text +
                 "' under pytorch; ddp, zero1, fsdp, fsdp-accelerate, tp or pipeline");
}

bool parse_truth(const char* flag, const std::string& text) {
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  throw BadInput(std::string(flag) + ": is '" + text + "'; true or false");
}

/// FullyShardedDataParallelPlugin.set_mixed_precision reduces in what it computes in.
std::optional<MixedPrecision> mixed_precision(const Flags& flags, bool by_accelerate) {
  const auto param = typed(flags, "mixed-precision");
  if (!param) return std::nullopt;
  const std::string reduce = by_accelerate ? *param : "fp32";
  return MixedPrecision{parse_type(*param),
                        parse_type(typed(flags, "reduce-dtype").value_or(reduce))};
}

bool is_spread(const Flags& flags) { return typed(flags, "gpus").value_or("1") != "1"; }
bool is_sharded(const Flags& flags) {
  return is_spread(flags) && strategy_named(flags).starts_with("fsdp");
}

bool is_cut(const Flags& flags) {
  const std::string strategy = strategy_named(flags);
  return is_spread(flags) && (strategy == kTp || strategy == kPipeline);
}

constexpr Needs kBuckets = {"--gpus 2 or more and --strategy ddp or zero1", [](const Flags& flags) {
                              return is_spread(flags) && !is_sharded(flags) && !is_cut(flags);
                            }};
constexpr Needs kStages = {"--gpus 2 or more and --strategy pipeline", [](const Flags& flags) {
                             return is_spread(flags) && strategy_named(flags) == kPipeline;
                           }};
constexpr Needs kShards = {"--gpus 2 or more and --strategy fsdp", is_sharded};
constexpr Needs kMixes = {"--mixed-precision",
                          [](const Flags& flags) { return has(flags, "mixed-precision"); }};

/// Why its step raises on DTensors, which is what fully_shard leaves an optimizer; null: it does
/// not. bitsandbytes 0.50 (optimizer_update_8bit_blockwise, optimizer_update_32bit), transformers
/// 5.17 (Adafactor.step) and PyTorch 2.11 (_single_tensor_adafactor).
const char* raises_on_dtensors(TorchOptimizer kind) {
  switch (kind) {
    case TorchOptimizer::AdamW8bit:
    case TorchOptimizer::PagedAdamW8bit:
    case TorchOptimizer::PagedAdamW32bit:
      return "bitsandbytes' kernels take no DTensor";
    case TorchOptimizer::AdafactorTransformers:
      return "transformers' Adafactor adds a DTensor to a plain tensor";
    case TorchOptimizer::Adafactor:
      return "torch.optim.Adafactor squares a norm in place that is not summed over GPUs yet";
    default:
      return nullptr;
  }
}

/// nn.Parameter of a shard "can require gradients", which integers cannot (FSDPParam).
void refuse_pretrained(const Pretrained& pretrained, const Distributed& distributed) {
  const auto& quantization = pretrained.quantization;
  if (!quantization) {
    throw BadInput("device-map: with fsdp is not predicted yet; --strategy ddp, or without");
  }
  if (!is_floating(quantization->storage)) {
    throw BadInput(
        "quant: fully_shard raises where weights are integers; nearest: --quant nf4 "
        "--quant-storage "
        "bf16, or without --gpus");
  }
  if (distributed.mixed_precision) {
    throw BadInput(
        "mixed-precision: beside quantised weights is not predicted yet; without it, or vramfit "
        "run");
  }
}

/// A host's: what each layer sends is sent in its forward and backward.
constexpr std::int64_t kMostOfAHost = 16;

void require_of_a_host(std::int64_t gpus, const char* of) {
  if (gpus <= kMostOfAHost) return;
  throw BadInput("gpus: " + std::to_string(gpus) + " " + of + "; at most " +
                 std::to_string(kMostOfAHost) + ", a host's");
}

/// Parameters are DTensors and plain tensors: what steps by kernels of many takes no mix.
void refuse_beside_tp(const TorchTraining& options) {
  switch (options.optimizer) {
    case TorchOptimizer::AdamWLoop:
    case TorchOptimizer::Sgd:
    case TorchOptimizer::SgdMomentum:
      break;
    default:
      throw BadInput(
          "optimizer: " + std::string(name(options.optimizer)) +
          " with tp raises: it takes no DTensors, or none beside plain tensors; nearest: "
          "adamw-loop (foreach=False), to which transformers' Trainer turns");
  }
  if (options.lora) {
    throw BadInput("lora: with tp is not predicted yet; --strategy fsdp, or vramfit run");
  }
  if (options.pretrained && options.pretrained->quantization) {
    throw BadInput("quant: with tp is not predicted yet; --strategy ddp, or vramfit run");
  }
  if (options.pretrained) {
    throw BadInput("device-map: tp_plan excludes it; without");
  }
}

void refuse_beside_pipeline(const TorchTraining& options, const Distributed& distributed) {
  constexpr std::int64_t kMostPasses = 512;
  if (options.lora) {
    throw BadInput("lora: with a pipeline is not predicted yet; --strategy fsdp, or vramfit run");
  }
  if (options.pretrained) {
    throw BadInput(
        "device-map, quant: a pipeline's stages come from the host as they are; without, or "
        "vramfit run");
  }
  if (options.autocast) {
    throw BadInput(
        "autocast: with a pipeline is not predicted yet; --precision bf16, or vramfit run");
  }
  if (options.accumulate > kMostPasses) {
    throw BadInput("accumulate: " + std::to_string(options.accumulate) +
                   " micro-batches of a pipeline; at most " + std::to_string(kMostPasses));
  }
  const bool alternates = distributed.schedule == PipelineSchedule::OneForwardOneBackward;
  if (alternates && options.accumulate < distributed.gpus) {
    const std::string stages = std::to_string(distributed.gpus);
    throw BadInput("accumulate: Schedule1F1B wants a micro-batch for each of " + stages +
                   " stages at least; --accumulate " + stages + ", or --schedule gpipe");
  }
}

void refuse_beside_fsdp(const TorchTraining& options, const Distributed& distributed) {
  if (const char* why = raises_on_dtensors(options.optimizer)) {
    throw BadInput("optimizer: " + std::string(name(options.optimizer)) +
                   " with fsdp raises: " + why + "; nearest: adamw-fused, or --strategy zero1");
  }
  if (options.pretrained) refuse_pretrained(*options.pretrained, distributed);
  if (options.lora && distributed.by_accelerate) {
    throw BadInput(
        "lora: with fsdp-accelerate is not predicted yet (beside PEFT the Trainer wraps no layer "
        "by itself, accelerate launch does); --strategy fsdp, or vramfit run");
  }
  if (options.checkpoint == GradientCheckpointing::Reentrant) {
    throw BadInput("checkpoint: fsdp needs full, which is use_reentrant=False");
  }
}

}  // namespace

Settings distributed_settings() {
  using enum vramfit::Setting::With;
  using enum vramfit::Setting::Takes;
  return {
      {.name = "gpus",
       .help = "so many GPUs, a batch on each (default 1)",
       .takes = Number,
       .spellings = {{"nproc-per-node"}, {"num-processes"}, {"num-gpus"}}},
      {.name = "strategy",
       .help = "with --gpus: ddp (default), zero1, fsdp, fsdp-accelerate, tp or pipeline; in "
               "inference pipeline (default) or tp",
       .needs = &kGpus,
       .spellings = {{"fsdp"}, {"use-fsdp", kByAccelerate}},
       .offers = {{"", "DDP"},
                  {"zero1", "ZeRO-1"},
                  {"fsdp", "FSDP2 (ZeRO-3)"},
                  {kByAccelerate, "FSDP2 by Accelerate"},
                  {kTp, "tensor parallel"},
                  {kPipeline, "pipeline"}}},
      {.name = "bucket-view",
       .with = Training,
       .help = "with ddp or zero1: gradient_as_bucket_view",
       .takes = Nothing,
       .needs = &kBuckets,
       .spellings = {{"gradient-as-bucket-view"}, {"ddp-gradient-as-bucket-view"}}},
      {.name = "bucket-cap-mb",
       .with = Training,
       .help = "with ddp or zero1: of a bucket (default 25)",
       .takes = Number,
       .needs = &kBuckets,
       .spellings = {{"ddp-bucket-cap-mb"}}},
      {.name = "reshard-after-forward",
       .with = Training,
       .help = "with fsdp: true (default) or false",
       .takes = Truth,
       .needs = &kShards,
       .spellings = {{"fsdp-reshard-after-forward"}}},
      {.name = "schedule",
       .with = Training,
       .help = "with pipeline: gpipe, or 1f1b (default where --accumulate is as many as GPUs)",
       .needs = &kStages,
       .choices = {kOneForwardOneBackward, "gpipe"}},
      {.name = "mixed-precision",
       .with = Training,
       .help = "with fsdp: MixedPrecisionPolicy's param_dtype, bf16 or fp16, over --precision fp32",
       .needs = &kShards,
       .choices = type_names()},
      {.name = "reduce-dtype",
       .with = Training,
       .help = "with --mixed-precision: fp32 (default), bf16 or fp16",
       .needs = &kMixes,
       .choices = type_names()},
  };
}

const char* name(const Distributed& distributed) {
  return distributed.by_accelerate ? kByAccelerate : name(distributed.strategy);
}

const char* name(DistributedStrategy strategy) {
  return strategy == DistributedStrategy::Ddp     ? "ddp"
         : strategy == DistributedStrategy::Zero1 ? "zero1"
         : strategy == DistributedStrategy::Tp    ? kTp
         : strategy == DistributedStrategy::Fsdp  ? "fsdp"
                                                  : kPipeline;
}

void read_distributed(const Flags& flags, TorchTraining& options) {
  auto several = several_gpus(flags);
  if (several && several->gpus == 1) {
    if (several->strategy) throw BadInput("strategy: only with --gpus 2 or more");
    several.reset();
  }
  if (!several) return;
  Distributed distributed;
  const std::string named = several->strategy.value_or("ddp");
  distributed.by_accelerate = named == kByAccelerate;
  distributed.strategy =
      distributed.by_accelerate ? DistributedStrategy::Fsdp : parse_strategy(named);
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
  distributed.stored = parse_type(vramfit::name(options.precision));
  distributed.mixed_precision = mixed_precision(flags, distributed.by_accelerate);
  if (distributed.by_accelerate && distributed.mixed_precision) {
    distributed.stored = ScalarType::Float;  // trainable parameters are upcast
    options.precision = DType::Fp32;
  }
  if (distributed.strategy == DistributedStrategy::Fsdp) {
    refuse_beside_fsdp(options, distributed);
  }
  if (distributed.strategy == DistributedStrategy::Tp) {
    require_of_a_host(distributed.gpus, "with tp");
    refuse_beside_tp(options);
    options.pretrained.emplace().tp = distributed.gpus;
  }
  if (distributed.strategy == DistributedStrategy::Pipeline) {
    require_of_a_host(distributed.gpus, "in a pipeline");
    // Schedule1F1B, where there are micro-batches for it.
    const bool few = !has(flags, "schedule") && options.accumulate < distributed.gpus;
    if (few || typed(flags, "schedule") == "gpipe") distributed.schedule = PipelineSchedule::GPipe;
    refuse_beside_pipeline(options, distributed);
  }
  if (distributed.mixed_precision && options.autocast) {
    throw BadInput("autocast and mixed-precision: one of them casts; without --autocast");
  }
  options.distributed = distributed;
}

void add_asked(const Distributed& distributed, nlohmann::ordered_json& json) {
  json["gpus"] = distributed.gpus;
  json["strategy"] = name(distributed);
  if (distributed.strategy == DistributedStrategy::Tp) return;
  if (distributed.strategy == DistributedStrategy::Pipeline) {
    json["schedule"] =
        distributed.schedule == PipelineSchedule::GPipe ? "gpipe" : kOneForwardOneBackward;
    return;
  }
  if (distributed.strategy != DistributedStrategy::Fsdp) {
    json["bucket_view"] = distributed.bucket_view;
    const auto& cap = distributed.bucket_cap_mb;
    json["bucket_cap_mb"] = cap ? nlohmann::ordered_json(*cap) : nullptr;
    return;
  }
  json["reshard_after_forward"] = distributed.reshard_after_forward;
  json["mixed_precision"] = nullptr;
  if (const auto& mixed = distributed.mixed_precision) {
    json["mixed_precision"] = {{"param", name(mixed->param)}, {"reduce", name(mixed->reduce)}};
  }
}

void read_gpus(const Flags& flags, TorchGeneration& options) {
  const auto several = several_gpus(flags);
  if (!several || several->gpus == 1) return;
  const std::string strategy = several->strategy.value_or("pipeline");
  if (strategy != "pipeline" && strategy != kTp) {
    throw BadInput(
        "strategy: '" + *several->strategy +
        "' in inference is not predicted; pipeline, which is device_map=\"auto\", or tp");
  }
  require_of_a_host(several->gpus, "in inference");
  if (strategy == kTp) {
    if (options.pretrained) {
      throw BadInput(options.pretrained->quantization
                         ? "quant: with tp is not predicted yet; without, or vramfit run"
                         : "device-map: tp_plan excludes it; without");
    }
    options.pretrained.emplace().tp = several->gpus;
    return;
  }
  if (options.pretrained && !options.pretrained->auto_device_map && has(flags, "device-map")) {
    throw BadInput("device-map: cuda is one GPU; auto with --gpus");
  }
  if (!options.pretrained) options.pretrained.emplace();
  options.pretrained->auto_device_map = true;
  options.pretrained->gpus = static_cast<int>(several->gpus);
}

}  // namespace vramfit::pytorch
