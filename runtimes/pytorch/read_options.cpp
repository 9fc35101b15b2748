#include "runtimes/pytorch/read_options.h"

#include <nlohmann/json.hpp>

#include "model/errors.h"
#include "model/quantity.h"
#include "runtimes/lora_flags.h"
#include "runtimes/options_workload.h"
#include "runtimes/parallel_flags.h"
#include "runtimes/pytorch/read_distributed.h"
#include "runtimes/pytorch/spellings.h"

namespace vramfit::pytorch {
namespace {

using Json = nlohmann::ordered_json;

/// What transformers' Trainer takes where none is named. Of DTensors beside plain tensors it steps
/// one by one (trainer_optimizer.py, has_mixed_dtensor).
constexpr const char* kDefaultOptimizer = "adamw-fused";
const char* default_optimizer(const Flags& flags) {
  const bool is_cut = has(flags, "gpus") && strategy_named(flags) == "tp";
  return is_cut ? "adamw-loop" : kDefaultOptimizer;
}

std::optional<LoraConfig> lora_options(const Flags& flags, const ModelConfig& model) {
  const auto rank = lora_rank(flags);
  if (!rank) return std::nullopt;
  const auto targets = typed(flags, "lora-targets");
  const auto dropout = typed(flags, "lora-dropout");
  return LoraConfig{
      *rank,
      targets ? parse_lora_targets(*targets, projection_names(model)) : default_lora_targets(model),
      dropout ? parse_number("lora-dropout", *dropout, 0, 1) : 0};
}

GradientCheckpointing checkpointing(const Flags& flags) {
  const auto checkpoint = typed(flags, "checkpoint");
  if (checkpoint == "full") return GradientCheckpointing::Full;
  return checkpoint == "reentrant" ? GradientCheckpointing::Reentrant : GradientCheckpointing::None;
}

constexpr Needs kFourBits = {"--quant nf4 or fp4", [](const Flags& flags) {
                               const auto format = typed(flags, "quant");
                               return format == "nf4" || format == "fp4";
                             }};

constexpr const char* kBytes = "uint8";

/// BitsAndBytesConfig: 4 bits compute in the type of --precision unless another is named.
std::optional<Quantization> quantization(const Flags& flags, const std::string& precision) {
  const auto format = typed(flags, "quant");
  if (!format) return std::nullopt;
  Quantization quantization;
  quantization.format = parse_format(*format);
  quantization.double_quant = has(flags, "double-quant");
  quantization.compute = parse_type(typed(flags, "quant-compute").value_or(precision));
  const std::string storage = typed(flags, "quant-storage").value_or(kBytes);
  if (storage != kBytes) quantization.storage = parse_type(storage);
  return quantization;
}

/// Quantised models are read by from_pretrained, others where a device_map says so.
std::optional<Pretrained> pretrained(const Flags& flags, const std::string& precision) {
  const auto map = typed(flags, "device-map");
  Pretrained arguments;
  arguments.auto_device_map = map == "auto";
  arguments.quantization = quantization(flags, precision);
  if (!map && !arguments.quantization) return std::nullopt;
  return arguments;
}

Json json_of(const std::optional<Pretrained>& pretrained) {
  if (!pretrained || !pretrained->quantization) return nullptr;
  const Quantization& quantization = *pretrained->quantization;
  const bool four_bits = quantization.format != Quantization::Format::Int8;
  Json json = {{"format", name(quantization.format)},
               {"double_quant", quantization.double_quant},
               {"compute", four_bits ? Json(name(quantization.compute)) : Json(nullptr)}};
  if (is_floating(quantization.storage)) json["storage"] = name(quantization.storage);
  return json;
}

Json json_of(GradientCheckpointing checkpoint) {
  if (checkpoint == GradientCheckpointing::None) return nullptr;
  return checkpoint == GradientCheckpointing::Full ? "full" : "reentrant";
}

Json device_map(const std::optional<Pretrained>& pretrained) {
  if (!pretrained || pretrained->tp > 1) return nullptr;
  return pretrained->auto_device_map ? "auto" : "cuda";
}

Json strategy_of(const std::optional<Pretrained>& pretrained) {
  if (!pretrained || (pretrained->gpus == 1 && pretrained->tp == 1)) return nullptr;
  return pretrained->tp > 1 ? "tp" : "pipeline";
}

}  // namespace

const Settings& settings_of_a_run() {
  using enum vramfit::Setting::With;
  using enum vramfit::Setting::Takes;
  static const Settings of_one = {
      {.name = "precision",
       .help = "fp32, fp16 or bf16 (default: the config's, bf16 if it says none)",
       .spellings = {{"torch-dtype"}, {"dtype"}},
       .canonical_value = canonical_type,
       .offers = plain_precision_offers()},
      {.name = "batch",
       .help = "Sequences in a (micro-)batch (default 1)",
       .takes = Number,
       .spellings = {{"per-device-train-batch-size", nullptr, true}}},
      {.name = "seq",
       .help = "Tokens in a sequence, or its prompt (default 2048)",
       .takes = Number,
       .spellings = {{"max-seq-length"}, {"max-length"}},
       .canonical_value = canonical_tokens},
      {.name = "optimizer",
       .with = Training,
       .help = optimizer_names() + "; default: " + kDefaultOptimizer,
       .spellings = {{"optim", nullptr, true}},
       .canonical_value = canonical_optimizer,
       .offers = with_default(optimizer_offers(), kDefaultOptimizer)},
      {.name = "accumulate",
       .with = Training,
       .help = "micro-batches in a step (default 1)",
       .takes = Number,
       .spellings = {{"gradient-accumulation-steps"}}},
      {.name = "loss-only",
       .with = Training,
       .help = "the script keeps the loss alone, as a Trainer does: logits go before backward",
       .takes = Nothing},
      {.name = "fused-lm-head",
       .with = Training,
       .help = "the loss by TRL's fused head, as SFTTrainer has it: no logits are kept",
       .takes = Nothing},
      {.name = "generate",
       .with = Inference,
       .help = "new tokens (default 1)",
       .takes = Number,
       .spellings = {{"max-new-tokens"}},
       .canonical_value = canonical_tokens},
      {.name = "attention",
       .help = "sdpa (default) or eager",
       .choices = {"sdpa", "eager"},
       .spellings = {{"attn-implementation"}},
       .canonical_value = canonical_attention,
       .offers = {{"", "sdpa"}, {"eager", "eager"}}},
      {.name = "autocast",
       .with = Training,
       .help = "bf16, whatever weights are in, or fp16 over fp32; with --precision fp32 mixed "
               "precision",
       .choices = {"bf16", "fp16"},
       .spellings = {{"bf16", "bf16", true}, {"fp16", "fp16", true}}},
      {.name = "checkpoint",
       .with = Training,
       .help = "full computes every layer's activations again; reentrant does with "
               "use_reentrant=True",
       .choices = {"none", "full", "reentrant"},
       .spellings = {{"gradient-checkpointing", "full"}},
       .offers = {{"", "off"}, {"full", "full"}, {"reentrant", "full, reentrant"}}},
      {.name = "lora",
       .with = Training,
       .help = "adapters of this rank (PEFT)",
       .takes = Number,
       .spellings = {{"lora-r"}}},
      {.name = "lora-targets",
       .with = Training,
       .help =
           "with --lora: names of projections, as q_proj,v_proj, or all-linear (default: PEFT's)",
       .takes = List,
       .needs = &kLora,
       .spellings = {{"lora-target-modules"}},
       .canonical_value = canonical_list},
      {.name = "lora-dropout",
       .with = Training,
       .help = "with --lora: its rate (default 0); above 0 each adapter keeps a mask and an input "
               "of its own",
       .takes = Number,
       .needs = &kLora},
      {.name = "quant",
       .help = "int8, nf4 or fp4: linears of the blocks in bitsandbytes' format; in training with "
               "--lora",
       .choices = {"int8", "nf4", "fp4"},
       .spellings = {{"load-in-8bit", "int8"}, {"load-in-4bit", "fp4"}, {"bnb-4bit-quant-type"}},
       .offers = {{"", "as they are"},
                  {"int8", "8 bits, LLM.int8()"},
                  {"nf4", "4 bits, nf4"},
                  {"fp4", "4 bits, fp4"}}},
      {.name = "double-quant",
       .help = "with --quant nf4 or fp4: scales are quantised too",
       .takes = Nothing,
       .needs = &kFourBits,
       .spellings = {{"bnb-4bit-use-double-quant"}}},
      {.name = "quant-compute",
       .help = "with --quant nf4 or fp4: fp32, fp16 or bf16 (default: as --precision)",
       .needs = &kFourBits,
       .choices = type_names(),
       .spellings = {{"bnb-4bit-compute-dtype"}},
       .canonical_value = canonical_type},
      {.name = "quant-storage",
       .help = "with --quant nf4 or fp4: uint8 (default), or fp32, fp16 or bf16, which fsdp shards",
       .needs = &kFourBits,
       .choices = {kBytes, "fp32", "fp16", "bf16"},
       .spellings = {{"bnb-4bit-quant-storage"}},
       .canonical_value = canonical_type},
      {.name = "device-map",
       .help = "cuda or auto: read by from_pretrained; auto leaves on the host what does not fit",
       .choices = {"cuda", "auto"}},
      {.name = "cache-implementation",
       .with = Inference,
       .help = "dynamic (default) or static, of generate()",
       .choices = {"dynamic", "static"}},
      {.name = "again",
       .with = Inference,
       .help = "generate() has been called before in the process",
       .takes = Nothing},
      {.name = "padded",
       .with = Inference,
       .help = "a prompt holds padding, as those of a batch do unless it is 1",
       .takes = Nothing},
      {.name = "unpadded",
       .with = Inference,
       .help = "prompts of a batch are of one length: none holds padding",
       .takes = Nothing},
  };
  static const Settings all = [] {
    Settings rows = of_one;
    for (const auto& setting : distributed_settings()) rows.push_back(setting);
    return rows;
  }();
  return all;
}

TorchTraining training_options(const Flags& flags, const ModelConfig& model) {
  TorchTraining options;
  read_sizes(flags, options);
  if (typed(flags, "attention") == "eager") options.attention = AttentionKind::Eager;
  options.optimizer = parse_optimizer(typed(flags, "optimizer").value_or(default_optimizer(flags)));
  options.accumulate = whole(flags, "accumulate", options.accumulate);
  options.loss_only = has(flags, "loss-only");
  options.fused_head = has(flags, "fused-lm-head");
  if (const auto type = typed(flags, "autocast")) options.autocast = parse_precision(*type);
  options.checkpoint = checkpointing(flags);
  options.lora = lora_options(flags, model);
  options.pretrained = pretrained(flags, name(options.precision));
  if (options.pretrained && options.pretrained->auto_device_map) {
    throw BadInput("device-map: auto is for inference: what lies on the host is not trained; cuda");
  }
  read_distributed(flags, options);
  return options;
}

TorchGeneration generation_options(const Flags& flags) {
  TorchGeneration options;
  read_sizes(flags, options);
  if (typed(flags, "attention") == "eager") options.attention = AttentionKind::Eager;
  options.generate = whole(flags, "generate", options.generate);
  if (has(flags, "padded") && has(flags, "unpadded")) {
    throw BadInput("padded and unpadded contradict each other: either prompts hold padding or not");
  }
  if (has(flags, "padded")) options.padded = true;
  if (has(flags, "unpadded")) options.padded = false;
  options.again = has(flags, "again");
  options.static_cache = typed(flags, "cache-implementation") == "static";
  options.pretrained = pretrained(flags, name(options.precision));
  read_gpus(flags, options);
  return options;
}

Json asked(const TorchOptions& options) {
  if (const auto* o = std::get_if<TorchTraining>(&options)) {
    Json json = {{"mode", "training"},
                 {"precision", name(o->precision)},
                 {"autocast", o->autocast ? Json(name(*o->autocast)) : Json(nullptr)},
                 {"attention", name(o->attention)},
                 {"batch", o->batch},
                 {"seq", o->seq},
                 {"optimizer", name(o->optimizer)},
                 {"accumulate", o->accumulate},
                 {"loss_only", keeps_loss_only(*o)},
                 {"fused_lm_head", o->fused_head},
                 {"checkpoint", json_of(o->checkpoint)},
                 {"lora", nullptr},
                 {"quant", json_of(o->pretrained)},
                 {"device_map", device_map(o->pretrained)},
                 {"gpus", 1},
                 {"strategy", nullptr}};
    if (o->distributed) add_asked(*o->distributed, json);
    if (o->lora) json["lora"] = {{"rank", o->lora->rank}, {"targets", o->lora->targets}};
    if (o->lora && o->lora->dropout > 0) json["lora"]["dropout"] = o->lora->dropout;
    return json;
  }
  const auto& o = std::get<TorchGeneration>(options);
  return {{"mode", "inference"},
          {"precision", name(o.precision)},
          {"attention", name(o.attention)},
          {"batch", o.batch},
          {"seq", o.seq},
          {"generate", o.generate},
          {"padded", o.padded.value_or(o.batch > 1)},
          {"quant", json_of(o.pretrained)},
          {"device_map", device_map(o.pretrained)},
          {"gpus", o.pretrained ? std::max<std::int64_t>(o.pretrained->gpus, o.pretrained->tp) : 1},
          {"strategy", strategy_of(o.pretrained)},
          {"cache_implementation", o.static_cache ? "static" : "dynamic"},
          {"again", o.again}};
}

}  // namespace vramfit::pytorch
