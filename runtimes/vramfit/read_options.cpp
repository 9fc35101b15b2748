#include "runtimes/vramfit/read_options.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtimes/lora_flags.h"
#include "runtimes/options_workload.h"
#include "runtimes/parallel_flags.h"

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

constexpr Needs kSomeCheckpointing = {"--checkpoint selective or full", [](const Flags& flags) {
                                        return flags.at("checkpoint-every") == "1" ||
                                               typed(flags, "checkpoint").value_or("none") !=
                                                   "none";
                                      }};

bool in_few_bits(const Flags& flags) {
  const auto precisions = model_precisions();
  return flags.at("head") == "16-bit" ||
         std::any_of(precisions.begin(), precisions.end(), [&](const ModelPrecision& row) {
           return row.quantized() && typed(flags, "precision") == row.name;
         });
}

constexpr const char* kDefaultOptimizer = "adamw";

std::vector<Offer> optimizer_offers() {
  std::vector<Offer> offers;
  for (const OptimizerKind& kind : optimizer_kinds()) offers.push_back({kind.name, kind.title});
  return with_default(std::move(offers), kDefaultOptimizer);
}

std::vector<Offer> precision_offers() {
  std::vector<Offer> offers = plain_precision_offers();
  for (const ModelPrecision& row : model_precisions()) {
    const std::string name = row.name;
    const bool weights_only = name.ends_with("-wo");
    if (!row.quantized()) continue;
    offers.push_back(
        {name, weights_only ? name.substr(0, name.size() - 3) + ", weights only" : name});
  }
  return offers;
}

TrainingOptions training_options(const Flags& flags, const ModelConfig& model) {
  TrainingOptions options;
  read_sizes(flags, options);
  if (const auto form = typed(flags, "attention")) options.attention = parse_attention(*form);
  if (const auto kind = typed(flags, "optimizer")) options.optimizer = optimizer_named(*kind);
  options.accumulate = whole(flags, "accumulate", options.accumulate);
  if (const auto rank = lora_rank(flags)) {
    const auto targets = typed(flags, "lora-targets");
    options.lora.emplace();
    options.lora->rank = *rank;
    options.lora->targets =
        targets ? parse_lora_targets(*targets, lora_targets(model)) : usual_lora_targets(model);
  }
  Checkpointing& checkpointing = options.checkpointing;
  if (const auto kind = typed(flags, "checkpoint")) checkpointing.kind = parse_checkpoint(*kind);
  checkpointing.every = whole(flags, "checkpoint-every", checkpointing.every);
  if (const auto several = several_gpus(flags)) {
    options.mesh = {parse_strategy(several->strategy.value_or("ddp")), several->gpus, 0};
  }
  return options;
}

GenerationOptions generation_options(const Flags& flags) {
  GenerationOptions options;
  read_sizes(flags, options);
  if (const auto form = typed(flags, "attention")) options.attention = parse_attention(*form);
  options.generate = whole(flags, "generate", options.generate);
  if (const auto cache = typed(flags, "cache")) options.cache = parse_cache(*cache);
  if (const auto block = typed(flags, "block")) options.block = parse_block(*block);
  if (const auto lengths = typed(flags, "lengths")) options.spread = parse_lengths(*lengths);
  options.quantize_head = typed(flags, "head") == "quantized";
  return options;
}

Json lora_json(const std::optional<LoraOptions>& lora) {
  if (!lora) return nullptr;
  return {{"rank", lora->rank}, {"targets", lora->targets}};
}

}  // namespace

const Settings& step_settings() {
  using enum Setting::With;
  using enum Setting::Takes;
  static const std::string few_bits = "--precision " + quantized_precisions(" or ");
  static const Needs quantized = {few_bits.c_str(), in_few_bits};
  static const Settings rows = {
      {.name = "precision",
       .help =
           "fp32, fp16 or bf16 (default: the config's, bf16 if it\nsays none); training also fp8, "
           "whose linears multiply\ncodes; inference, and training with --lora, also\n" +
           quantized_precisions(),
       .offers = precision_offers()},
      {"batch", Either, "", Number},
      {"seq", Either, "", Number},
      {.name = "optimizer",
       .with = Training,
       .help = optimizer_names() + "; default: " + kDefaultOptimizer,
       .offers = optimizer_offers()},
      {"accumulate", Training, "micro-batches in a step (default 1)", Number},
      {"lora", Training, "adapters of this rank; all else is frozen", Number},
      {"lora-targets", Training,
       "with --lora: names of projections, as\nq_proj,v_proj, or all-linear (default: PEFT's)",
       List, &kLora},
      {"gpus", Training, "so many GPUs, a batch on each (default 1)", Number},
      {.name = "strategy",
       .with = Training,
       .help = "with --gpus: ddp (default), zero1, zero2, fsdp,\nwhich is ZeRO-3, or pipeline",
       .needs = &kGpus,
       .offers = {{"", "DDP"},
                  {"zero1", "ZeRO-1"},
                  {"zero2", "ZeRO-2"},
                  {"fsdp", "FSDP (ZeRO-3)"},
                  {"pipeline", "pipeline"}}},
      {.name = "checkpoint",
       .with = Training,
       .help = "activations computed again: none (default),\nselective (the MLP's first half) or "
               "full",
       .offers = {{"", "off"}, {"selective", "selective"}, {"full", "full"}}},
      {"checkpoint-every", Training, "one of so many blocks does (default 1)", Number,
       &kSomeCheckpointing},
      {"generate", Inference, "new tokens (default 1)", Number},
      {.name = "attention",
       .help = "flash (default) or cublas",
       .offers = {{"", "flash"}, {"cublas", "materialised (cuBLAS)"}}},
      {.name = "head",
       .with = Inference,
       .help = "the head's weight: 16-bit (default), or\nquantized as linears are",
       .needs = &quantized,
       .choices = {"16-bit", "quantized"}},
      {"cache", Inference, "keys and values: unquantized (default), fp8 or\nint8"},
      {"block", Inference,
       "positions of the cache's blocks, a power of two;\nnone (default): one for a whole "
       "sequence",
       Number},
      {"lengths", Inference,
       "prompts: equal (default), or spread up to seq; of any runtime a .jsonl of samples: the "
       "longest is --seq"},
  };
  return rows;
}

StepOptions read_options(const Flags& flags, bool training, const ModelConfig& model) {
  if (training) return training_options(flags, model);
  return generation_options(flags);
}

Json asked(const StepOptions& options) {
  if (const auto* o = std::get_if<TrainingOptions>(&options)) {
    const Checkpoint kind = o->checkpointing.kind;
    const Json checkpoint = kind == Checkpoint::None ? Json(nullptr) : Json(name(kind));
    return {{"mode", "training"},
            {"precision", o->precision.name},
            {"attention", name(o->attention)},
            {"batch", o->batch},
            {"seq", o->seq},
            {"optimizer", o->optimizer.name},
            {"accumulate", o->accumulate},
            {"lora", lora_json(o->lora)},
            {"checkpoint", checkpoint},
            {"checkpoint_every", o->checkpointing.every},
            {"gpus", o->mesh.ranks},
            {"strategy", o->mesh.alone() ? Json(nullptr) : Json(name(o->mesh.strategy))}};
  }
  const auto& o = std::get<GenerationOptions>(options);
  return {{"mode", "inference"},
          {"precision", o.precision.name},
          {"attention", name(o.attention)},
          {"batch", o.batch},
          {"seq", o.seq},
          {"generate", o.generate},
          {"head", o.quantize_head ? "quantized" : "16-bit"},
          {"cache", o.cache ? name(*o.cache) : "unquantized"},
          {"block", o.block},
          {"lengths", o.spread ? "spread" : "equal"}};
}

}  // namespace vramfit
