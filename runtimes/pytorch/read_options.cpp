#include "runtimes/pytorch/read_options.h"

#include "model/errors.h"
#include "runtimes/lora_flags.h"
#include "runtimes/options_workload.h"
#include "runtimes/pytorch/read_distributed.h"

namespace vramfit::pytorch {
namespace {

/// What transformers' Trainer takes where none is named.
constexpr const char* kDefaultOptimizer = "adamw-fused";

std::optional<LoraOptions> lora_options(const Flags& flags, const ModelConfig& model) {
  const auto rank = lora_rank(flags);
  if (!rank) return std::nullopt;
  const auto targets = typed(flags, "lora-targets");
  return LoraOptions{*rank, targets ? parse_lora_targets(*targets, projection_names(model))
                                    : default_lora_targets(model)};
}

DType autocast_type(const std::string& text) {
  if (text != "bf16" && text != "fp16") {
    throw BadInput("autocast: unknown '" + text + "'; bf16 or fp16");
  }
  return parse_precision(text);
}

Checkpointing checkpointing(const Flags& flags) {
  const auto checkpoint = typed(flags, "checkpoint");
  if (!checkpoint || *checkpoint == "none") return Checkpointing::None;
  if (*checkpoint == "full") return Checkpointing::Full;
  if (*checkpoint == "reentrant") return Checkpointing::Reentrant;
  throw BadInput("checkpoint: unknown '" + *checkpoint + "'; none, full or reentrant");
}

ScalarType compute_type(const std::string& flag, const std::string& text) {
  if (text == "fp32") return ScalarType::Float;
  if (text == "fp16") return ScalarType::Half;
  if (text == "bf16") return ScalarType::BFloat16;
  throw BadInput(flag + ": unknown '" + text + "'; fp32, fp16 or bf16");
}

/// BitsAndBytesConfig: 4 bits compute in the type of --precision unless another is named.
std::optional<Quantization> quantization(const Flags& flags, const std::string& precision) {
  const auto format = typed(flags, "quant");
  for (const char* flag : {"double-quant", "quant-compute"}) {
    if (has(flags, flag) && (!format || *format == "int8")) {
      throw BadInput(std::string(flag) + ": only with --quant nf4 or fp4");
    }
  }
  if (!format) return std::nullopt;
  Quantization quantization;
  quantization.format = parse_format(*format);
  quantization.double_quant = has(flags, "double-quant");
  const auto compute = typed(flags, "quant-compute");
  quantization.compute =
      compute ? compute_type("quant-compute", *compute) : compute_type("precision", precision);
  return quantization;
}

/// Quantised models are read by from_pretrained, others where a device_map says so.
std::optional<Pretrained> pretrained(const Flags& flags, const std::string& precision) {
  const auto map = typed(flags, "device-map");
  if (map && *map != "cuda" && *map != "auto") {
    throw BadInput("device-map: unknown '" + *map + "'; cuda, which is all of the model, or auto");
  }
  Pretrained arguments;
  arguments.auto_device_map = map == "auto";
  arguments.quantization = quantization(flags, precision);
  if (!map && !arguments.quantization) return std::nullopt;
  return arguments;
}

bool static_cache(const Flags& flags) {
  const auto kind = typed(flags, "cache-implementation");
  if (kind && *kind != "dynamic" && *kind != "static") {
    throw BadInput("cache-implementation: unknown '" + *kind + "'; dynamic or static");
  }
  return kind == "static";
}

}  // namespace

const std::vector<Flag>& option_flags() {
  using With = Flag::With;
  static const std::string optimizer_help = optimizer_names() + "; default: " + kDefaultOptimizer;
  static const std::vector<Flag> of_one = {
      {"optimizer", With::Training, optimizer_help.c_str()},
      {"accumulate", With::Training, "micro-batches in a step (default 1)"},
      {"loss-only", With::Training,
       "the script keeps the loss alone, as a Trainer does: logits go before backward", false},
      {"generate", With::Inference, "new tokens (default 1)"},
      {"attention", With::Either, "sdpa (default) or eager"},
      {"autocast", With::Training,
       "bf16 or fp16, whatever weights are in; with --precision fp32 mixed precision"},
      {"checkpoint", With::Training,
       "full computes every layer's activations again; reentrant does with use_reentrant=True"},
      {"lora", With::Training, "adapters of this rank (PEFT)"},
      {"lora-targets", With::Training,
       "with --lora: names of projections, as q_proj,v_proj, or all-linear (default: PEFT's)"},
      {"quant", With::Either,
       "int8, nf4 or fp4: linears of the blocks in bitsandbytes' format; in training with --lora"},
      {"double-quant", With::Either, "with --quant nf4 or fp4: scales are quantised too", false},
      {"quant-compute", With::Either,
       "with --quant nf4 or fp4: fp32, fp16 or bf16 (default: as --precision)"},
      {"device-map", With::Either,
       "cuda or auto: read by from_pretrained; auto leaves on the host what does not fit"},
      {"cache-implementation", With::Inference, "dynamic (default) or static, of generate()"},
      {"again", With::Inference, "generate() has been called before in the process", false},
      {"padded", With::Inference, "a prompt holds padding, as those of a batch do unless it is 1",
       false},
      {"unpadded", With::Inference, "prompts of a batch are of one length: none holds padding",
       false},
  };
  static const std::vector<Flag> list = [] {
    std::vector<Flag> all = of_one;
    for (const Flag& flag : distributed_flags()) all.push_back(flag);
    return all;
  }();
  return list;
}

TrainingOptions training_options(const Flags& flags, const ModelConfig& model) {
  TrainingOptions options;
  read_sizes(flags, options);
  if (const auto kind = typed(flags, "attention")) options.attention = parse_attention(*kind);
  options.optimizer = parse_optimizer(typed(flags, "optimizer").value_or(kDefaultOptimizer));
  options.accumulate = whole(flags, "accumulate", options.accumulate);
  options.loss_only = has(flags, "loss-only");
  if (const auto type = typed(flags, "autocast")) options.autocast = autocast_type(*type);
  options.checkpoint = checkpointing(flags);
  options.lora = lora_options(flags, model);
  options.pretrained = pretrained(flags, name(options.precision));
  if (options.pretrained && options.pretrained->auto_device_map) {
    throw BadInput("device-map: auto is for inference: what lies on the host is not trained; cuda");
  }
  read_distributed(flags, options);
  return options;
}

GenerationOptions generation_options(const Flags& flags) {
  GenerationOptions options;
  read_sizes(flags, options);
  if (const auto kind = typed(flags, "attention")) options.attention = parse_attention(*kind);
  options.generate = whole(flags, "generate", options.generate);
  if (has(flags, "padded") && has(flags, "unpadded")) {
    throw BadInput("padded and unpadded contradict each other: either prompts hold padding or not");
  }
  if (has(flags, "padded")) options.padded = true;
  if (has(flags, "unpadded")) options.padded = false;
  options.again = has(flags, "again");
  options.static_cache = static_cache(flags);
  options.pretrained = pretrained(flags, name(options.precision));
  read_gpus(flags, options);
  return options;
}

}  // namespace vramfit::pytorch
