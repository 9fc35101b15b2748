#include "runtimes/vramfit/runtime.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/config/families.h"
#include "model/errors.h"
#include "model/memory/pool.h"
#include "model/transformer/parameters.h"
#include "model/transformer/sizes.h"
#include "runtimes/lora_flags.h"
#include "runtimes/notes.h"
#include "runtimes/parallel_flags.h"
#include "runtimes/vramfit/dry_run.h"
#include "runtimes/vramfit/pipeline_split.h"
#include "runtimes/vramfit/rank_overhead.h"

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

constexpr Needs kSomeCheckpointing = {"--checkpoint selective or full", [](const Flags& flags) {
                                        return flags.at("checkpoint-every") == "1" ||
                                               typed(flags, "checkpoint").value_or("none") !=
                                                   "none";
                                      }};

constexpr Needs kFewBits = {
    "--precision fp8, int8, int8-wo, nf4 or int4", [](const Flags& flags) {
      const auto precisions = model_precisions();
      return flags.at("head") == "16-bit" ||
             std::any_of(precisions.begin(), precisions.end(), [&](const ModelPrecision& row) {
               return row.quantized() && typed(flags, "precision") == row.name;
             });
    }};

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

class VramfitRuntime final : public Runtime {
 public:
  const char* name() const override { return "vramfit"; }

  const Settings& settings() const override {
    using enum Setting::With;
    using enum Setting::Takes;
    static const Settings rows = {
        {.name = "precision",
         .help =
             "fp32, fp16 or bf16 (default: the config's, bf16 if it\nsays none); inference, and "
             "training with --lora, also\n" +
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
         .needs = &kFewBits,
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

  bool runs(const FamilyReader& family) const override { return family.in_step_program; }

  const Capabilities& can() const override {
    static const Capabilities can = {.quantized_precisions = true,
                                     .granularity = Pool::kGranularity,
                                     .measured_parts = {"nccl_connected", "nccl_staged"}};
    return can;
  }

  const std::vector<SearchAxis>& axes() const override { return batch_and_seq(); }

 private:
  std::shared_ptr<const Workload> read(const Flags& flags, bool training,
                                       const ModelConfig& model) const override {
    if (training) return std::make_shared<StepWorkload>(training_options(flags, model));
    GenerationOptions options;
    read_sizes(flags, options);
    if (const auto form = typed(flags, "attention")) options.attention = parse_attention(*form);
    options.generate = whole(flags, "generate", options.generate);
    if (const auto cache = typed(flags, "cache")) options.cache = parse_cache(*cache);
    if (const auto block = typed(flags, "block")) options.block = parse_block(*block);
    if (const auto lengths = typed(flags, "lengths")) options.spread = parse_lengths(*lengths);
    options.quantize_head = typed(flags, "head") == "quantized";
    return std::make_shared<StepWorkload>(options);
  }

  static TrainingOptions training_options(const Flags& flags, const ModelConfig& model) {
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
};

RunReport walk(const VirtualGpu& gpu, const ModelConfig& config, TrainingOptions options,
               const Extent& extent) {
  // In a pipeline micro-batches overlap, and what they leave in pieces changes from one to the
  // next: all are walked, but of more than anybody has.
  constexpr std::int64_t kMostOfAPipeline = 256;
  const std::int64_t walked = options.mesh.pipelined()
                                  ? std::max(kMostOfAPipeline, 2 * options.mesh.ranks)
                                  : extent.micro_batches;
  options.accumulate = std::min(options.accumulate, walked);
  return dry_run(gpu, config, options, extent.steps, extent.detail.events, extent.stop_when);
}

RunReport walk(const VirtualGpu& gpu, const ModelConfig& config, const GenerationOptions& options,
               const Extent& extent) {
  return dry_run(gpu, config, options, extent.decodes, extent.detail.events);
}

/// "blocks of the 3 GPUs: 9, 8, 7; figures are of number 1, which takes most".
std::string pipeline_note(const Mesh& mesh) {
  std::string text = "blocks of the " + std::to_string(mesh.ranks) + " GPUs: ";
  constexpr std::size_t kMost = 16;
  const std::size_t told = std::min(kMost, mesh.stage_blocks.size());
  for (std::size_t rank = 0; rank < told; ++rank) {
    text += (rank == 0 ? "" : ", ") + std::to_string(mesh.stage_blocks[rank]);
  }
  return text + (told < mesh.stage_blocks.size() ? ", …" : "") + "; figures are of number " +
         std::to_string(mesh.rank + 1) +
         ", which takes most; what NCCL takes of them was measured on two";
}

void note(const ModelConfig& config, const TrainingOptions& options, const Extent&,
          Outcome& outcome) {
  if (options.mesh.pipelined()) {
    outcome.notes.push_back(pipeline_note(options.mesh));
  } else if (!options.mesh.alone()) {
    outcome.notes.push_back("figures are of each of " + std::to_string(options.mesh.ranks) +
                            " GPUs, all alike; what NCCL takes of them was measured on two");
  }
  // Nobody benchmarks with it.
  if (config.dropout.any()) {
    outcome.notes.emplace_back("dropout is left out (its masks would add memory)");
  }
}

void note(const ModelConfig&, const GenerationOptions& options, const Extent& extent,
          Outcome& outcome) {
  const std::int64_t decodes = options.generate - 1;
  outcome.all_decodes = decodes <= extent.decodes;
  note_left_out(outcome.report.stages, Stage::Decode, decodes, "decode steps", outcome.notes);
}

/// A rank's options: of a pipeline that nobody has split yet those of the rank that takes most.
TrainingOptions of_one_gpu(Arch arch, const ModelConfig& config, TrainingOptions options) {
  if (!options.mesh.pipelined() || !options.mesh.stage_blocks.empty()) return options;
  const PipelineSplit split = split_by_memory(arch, config, options);
  options.mesh.stage_blocks = split.blocks;
  options.mesh.rank = split.fullest;
  return options;
}

GenerationOptions of_one_gpu(Arch, const ModelConfig&, GenerationOptions options) {
  return options;
}

std::string generation_types(const GenerationOptions& o) {
  const std::string type = name(o.precision.activations);
  const std::string cache = o.cache ? ", the cache in " + std::string(name(*o.cache)) : "";
  const char* with_cache = o.cache ? "" : " and cache";
  if (!o.precision.quantized()) {
    return (o.cache ? "weights and activations" : "weights, activations and cache") +
           std::string(" in ") + type + cache;
  }
  return std::string("weights of linears ") + (o.quantize_head ? "and head " : "") + "in " +
         o.precision.linears.name() + ", the rest" + with_cache + " in " + type + cache;
}

std::string checkpointing_text(const Checkpointing& checkpointing) {
  if (checkpointing.kind == Checkpoint::None) return "";
  std::string text = std::string(", ") + name(checkpointing.kind) + " checkpointing";
  if (checkpointing.every == 1) return text;
  return text + " of one block in " + std::to_string(checkpointing.every);
}

std::string mesh_text(const Mesh& mesh) {
  if (mesh.alone()) return "";
  return ", on each of " + std::to_string(mesh.ranks) + " GPUs under " + name(mesh.strategy);
}

Json lora_json(const std::optional<LoraOptions>& lora) {
  if (!lora) return nullptr;
  return {{"rank", lora->rank}, {"targets", lora->targets}};
}

std::string lora_text(const std::optional<LoraOptions>& lora) {
  if (!lora) return "";
  std::string text = ", LoRA of rank " + std::to_string(lora->rank) + " on ";
  for (std::size_t i = 0; i < lora->targets.size(); ++i) {
    text += (i == 0 ? "" : ", ") + lora->targets[i];
  }
  return text;
}

/// What has gradients, and before it what does not.
std::string frozen_text(const TrainingOptions& o) {
  if (!o.lora) return "weights ";
  if (!o.precision.quantized()) return "frozen weights, adapters ";
  return std::string("frozen weights of linears in ") + o.precision.linears.name() +
         ", the rest, adapters ";
}

}  // namespace

const Runtime& vramfit_runtime() {
  static const VramfitRuntime runtime;
  return runtime;
}

const Runtime& StepWorkload::runtime() const { return vramfit_runtime(); }

Facts StepWorkload::facts() const {
  Facts facts = std::visit(
      [](const auto& o) {
        return Facts{.weights = o.precision.linears, .batch = o.batch, .seq = o.seq};
      },
      options());
  const auto* o = std::get_if<TrainingOptions>(&options());
  if (o == nullptr) return facts;
  facts.optimizer_name = o->optimizer.name;
  facts.optimizer =
      facts.optimizer_name.starts_with("adam") ? Facts::Optimizer::Adam : Facts::Optimizer::Other;
  facts.adapters = o->lora.has_value();
  facts.checkpointing = o->checkpointing.kind != Checkpoint::None;
  return facts;
}

int StepWorkload::oldest_sm() const {
  return std::visit([](const auto& o) { return o.precision.sm; }, options());
}

std::int64_t StepWorkload::stored_parameters(const ModelConfig& config) const {
  return stored_parameter_count(config);
}

void StepWorkload::validate(const ModelConfig& config) const {
  vramfit::validate(config, options());
}

std::int64_t StepWorkload::limit(const SearchAxis& axis, const ModelConfig& config) const {
  return axis == kBatchAxis ? kMaxBatch : seq_limit(config, options());
}

Outcome StepWorkload::run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig& config,
                          const Extent& extent) const {
  const VirtualGpu virtual_gpu{gpu.arch, capacity + extent.extra_capacity};
  Outcome outcome;
  const auto* training = std::get_if<TrainingOptions>(&options());
  outcome.overhead = rank_overhead(gpu.overhead, training == nullptr ? Mesh{} : training->mesh);
  std::visit(
      [&](const auto& o) {
        const auto own = of_one_gpu(gpu.arch, config, o);
        outcome.report = walk(virtual_gpu, config, own, extent);
        note(config, own, extent, outcome);
      },
      options());
  for (StageRecord& stage : outcome.report.stages) {
    stage.device_used = stage.reserved + outcome.overhead.context + outcome.overhead.libraries;
  }
  return outcome;
}

Json StepWorkload::asked() const {
  if (const auto* o = std::get_if<TrainingOptions>(&options())) {
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
  const auto& o = std::get<GenerationOptions>(options());
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

std::string StepWorkload::text(const std::string& sizes) const {
  if (const auto* o = std::get_if<TrainingOptions>(&options())) {
    return std::string("training in ") + o->precision.name + " with " + o->optimizer.name + ", " +
           sizes + micro_batches_text(o->accumulate) + lora_text(o->lora) + ", " +
           name(o->attention) + " attention" + checkpointing_text(o->checkpointing) +
           mesh_text(o->mesh);
  }
  const auto& o = std::get<GenerationOptions>(options());
  return std::string("inference in ") + o.precision.name + ", " + sizes +
         new_tokens_text(o.generate) + ", " + name(o.attention) + " attention";
}

std::string StepWorkload::about() const {
  const char* more = training() ? "it keeps activations and logits that vramfit computes again or "
                                  "in pieces, and holds on to what its allocator rounds up"
                                : "its temporaries are larger, and it holds on to what its "
                                  "allocator rounds up";
  return std::string("vramfit, this project's own step. PyTorch needs more for the same: ") + more +
         ".";
}

std::string StepWorkload::types() const {
  const auto* o = std::get_if<TrainingOptions>(&options());
  if (o == nullptr) return generation_types(std::get<GenerationOptions>(options()));
  const std::string precision = name(o->precision.activations);
  std::string text = frozen_text(*o) + "and gradients in " + precision;
  const char* trained = o->lora ? "adapters" : "weights";
  if (o->optimizer.master) text += std::string(", a copy of the ") + trained + " in fp32";
  if (o->optimizer.moments == 0) return text;
  const Format moments = o->optimizer.moment_format(o->precision.activations);
  return text + ", optimizer states in " + moments.name() +
         (o->optimizer.has_scales() ? " codes" : "") +
         (o->optimizer.on_host ? " in the host's memory" : "");
}

}  // namespace vramfit
