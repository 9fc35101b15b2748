#include "runtimes/vramfit/runtime.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/config/families.h"
#include "model/errors.h"
#include "model/memory/pool.h"
#include "model/transformer/parameters.h"
#include "model/transformer/sizes.h"
#include "runtimes/notes.h"
#include "runtimes/vramfit/dry_run.h"
#include "runtimes/vramfit/pipeline_split.h"
#include "runtimes/vramfit/rank_overhead.h"
#include "runtimes/vramfit/read_options.h"

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

class VramfitRuntime final : public Runtime {
 public:
  const char* name() const override { return "vramfit"; }

  const Settings& settings() const override { return step_settings(); }

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
    return std::make_shared<StepWorkload>(read_options(flags, training, model));
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
  facts.weights = precisions_of(*o).linears;
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

Json StepWorkload::asked() const { return vramfit::asked(options()); }

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
  const Precisions stored = precisions_of(*o);
  if (stored.multiplies_codes()) {
    text += std::string(", multiplied in ") + stored.products.name() +
            " by linears, their outputs' gradients too";
  }
  const char* trained = o->lora ? "adapters" : "weights";
  if (o->optimizer.master) text += std::string(", a copy of the ") + trained + " in fp32";
  if (o->optimizer.moments == 0) return text;
  const Format moments = o->optimizer.moment_format(o->precision.activations);
  return text + ", optimizer states in " + moments.name() +
         (o->optimizer.has_scales() ? " codes" : "") +
         (o->optimizer.on_host ? " in the host's memory" : "");
}

}  // namespace vramfit
