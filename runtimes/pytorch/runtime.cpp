#include "runtimes/pytorch/runtime.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "model/errors.h"
#include "model/memory/pool.h"
#include "model/quantity.h"
#include "model/transformer/parameters.h"
#include "runtimes/notes.h"
#include "runtimes/pytorch/generate.h"

namespace vramfit::pytorch {
namespace {

using Json = nlohmann::ordered_json;

/// PEFT's target_modules: names, or "all-linear".
std::vector<std::string> lora_targets(const std::string& text, const ModelConfig& model) {
  if (text == "all-linear") return projection_names(model);
  std::vector<std::string> names;
  std::istringstream list(text + ",");
  for (std::string name; std::getline(list, name, ',');) {
    if (name.empty()) {
      throw BadInput("lora-targets: a name is missing; such as q_proj,v_proj, or all-linear");
    }
    names.push_back(name);
  }
  return names;
}

std::optional<LoraOptions> lora_options(const Flags& flags, const ModelConfig& model) {
  const auto rank = typed(flags, "lora");
  const auto targets = typed(flags, "lora-targets");
  if (targets && !rank) throw BadInput("lora-targets: only with --lora");
  if (!rank) return std::nullopt;
  return LoraOptions{parse_whole("lora", *rank),
                     targets ? lora_targets(*targets, model) : default_lora_targets(model)};
}

DType autocast_type(const std::string& text) {
  if (text != "bf16" && text != "fp16") {
    throw BadInput("autocast: unknown '" + text + "'; bf16 or fp16");
  }
  return parse_precision(text);
}

bool checkpoints(const Flags& flags) {
  const auto checkpoint = typed(flags, "checkpoint");
  if (checkpoint && *checkpoint != "full") {
    throw BadInput("checkpoint: unknown '" + *checkpoint + "'; full");
  }
  return checkpoint.has_value();
}

TrainingOptions training_options(const Flags& flags, const ModelConfig& model) {
  TrainingOptions options;
  read_sizes(flags, options);
  if (const auto kind = typed(flags, "attention")) options.attention = parse_attention(*kind);
  // What transformers' Trainer takes where none is named.
  options.optimizer = parse_optimizer(typed(flags, "optimizer").value_or("adamw-fused"));
  options.accumulate = whole(flags, "accumulate", options.accumulate);
  if (const auto type = typed(flags, "autocast")) options.autocast = autocast_type(*type);
  options.checkpoint = checkpoints(flags);
  options.lora = lora_options(flags, model);
  return options;
}

GenerationOptions generation_options(const Flags& flags) {
  GenerationOptions options;
  read_sizes(flags, options);
  if (const auto kind = typed(flags, "attention")) options.attention = parse_attention(*kind);
  options.generate = whole(flags, "generate", options.generate);
  if (has(flags, "padded")) options.padded = true;
  return options;
}

}  // namespace

const std::vector<Flag>& PyTorchRuntime::flags() const {
  using With = Flag::With;
  static const std::vector<Flag> list = {
      {"optimizer", With::Training, "adamw-fused (default), adamw, adamw-loop, sgd, sgd-momentum"},
      {"accumulate", With::Training, "micro-batches in a step (default 1)"},
      {"generate", With::Inference, "new tokens (default 1)"},
      {"attention", With::Either, "sdpa (default) or eager"},
      {"autocast", With::Training, "bf16 or fp16 over weights of --precision fp32"},
      {"checkpoint", With::Training, "'full' computes every layer's activations again"},
      {"lora", With::Training, "adapters of this rank (PEFT)"},
      {"lora-targets", With::Training,
       "with --lora: names of projections, as q_proj,v_proj, or all-linear (default: PEFT's)"},
      {"padded", With::Inference, "a prompt holds padding, as those of a batch do unless it is 1",
       false},
  };
  return list;
}

std::shared_ptr<const Workload> PyTorchRuntime::workload(const Flags& flags, bool training,
                                                         const ModelConfig& model) const {
  if (training) return std::make_shared<TorchWorkload>(*this, training_options(flags, model));
  return std::make_shared<TorchWorkload>(*this, generation_options(flags));
}

Json PyTorchRuntime::release() const {
  return {{"name", versions_.name},
          {"torch", pytorch::text(versions_.torch)},
          {"transformers", pytorch::text(versions_.transformers)},
          {"peft", pytorch::text(versions_.peft)},
          {"cuda", short_text(versions_.cuda)},
          {"cudnn", pytorch::text(versions_.cudnn)}};
}

std::string PyTorchRuntime::about(const Workload&) const {
  return "PyTorch " + short_text(versions_.torch) + " and transformers " +
         short_text(versions_.transformers) +
         ", eager mode. --runtime vramfit is this project's own step, which needs less.";
}

std::uint64_t PyTorchRuntime::granularity() const { return Pool::kGranularity; }

DType TorchWorkload::computes_in() const {
  const auto* training = std::get_if<TrainingOptions>(&options());
  if (training == nullptr) return std::get<GenerationOptions>(options()).precision;
  return training->autocast.value_or(training->precision);
}

std::int64_t TorchWorkload::stored_parameters(const ModelConfig& config) const {
  return parameter_count(config);
}

void TorchWorkload::validate(const ModelConfig& config) const {
  pytorch::validate(config, options());
}

std::int64_t TorchWorkload::seq_limit(const ModelConfig& config) const {
  return pytorch::seq_limit(config, options());
}

Outcome TorchWorkload::run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig& config,
                           const Extent& extent) const {
  Outcome outcome;
  outcome.report = std::visit(
      [&](const auto& o) {
        return pytorch::run(gpu, runtime_->versions(), config, o, extent, capacity);
      },
      options());
  const Release& release = runtime_->versions();
  if (gpu.arch.sm < release.least_arch.sm) {
    outcome.notes.push_back("PyTorch " + pytorch::text(release.torch) + " as built for CUDA " +
                            short_text(release.cuda) + " begins at sm_" +
                            std::to_string(release.least_arch.sm) + " and does not run on sm_" +
                            std::to_string(gpu.arch.sm) + "; a build for an older CUDA may");
  }
  const bool sdpa =
      std::visit([](const auto& o) { return o.attention; }, options()) == AttentionKind::Sdpa;
  if (sdpa && gpu.arch.sm < 80 && computes_in() == DType::Bf16) {
    outcome.notes.emplace_back(
        "below sm_80 PyTorch has no fused attention in bf16: each layer holds the scores of all "
        "tokens with all, which fp16 may not need");
  }
  outcome.overhead = gpu.overhead;
  outcome.overhead.context = gpu.overhead.pytorch.value().context;
  // As they are at its end: the driver loads code as it is first used.
  if (!outcome.report.stages.empty()) {
    const StageRecord& last = outcome.report.stages.back();
    outcome.overhead.libraries = last.device_used - last.reserved - outcome.overhead.context;
  }
  if (const auto* generation = std::get_if<GenerationOptions>(&options())) {
    const std::int64_t samples = decode_samples(config, extent);
    outcome.sampled = generation->generate - 1 > samples;
    if (outcome.sampled) {
      outcome.notes.push_back(std::to_string(samples) + " of " +
                              std::to_string(generation->generate - 1) +
                              " decode steps are walked, evenly spread");
    }
  }
  return outcome;
}

Json TorchWorkload::asked() const {
  if (const auto* o = std::get_if<TrainingOptions>(&options())) {
    Json json = {{"mode", "training"},
                 {"precision", name(o->precision)},
                 {"autocast", o->autocast ? Json(name(*o->autocast)) : Json(nullptr)},
                 {"attention", name(o->attention)},
                 {"batch", o->batch},
                 {"seq", o->seq},
                 {"optimizer", name(o->optimizer)},
                 {"accumulate", o->accumulate},
                 {"checkpoint", o->checkpoint ? Json("full") : Json(nullptr)},
                 {"lora", nullptr}};
    if (o->lora) json["lora"] = {{"rank", o->lora->rank}, {"targets", o->lora->targets}};
    return json;
  }
  const auto& o = std::get<GenerationOptions>(options());
  return {{"mode", "inference"},
          {"precision", name(o.precision)},
          {"attention", name(o.attention)},
          {"batch", o.batch},
          {"seq", o.seq},
          {"generate", o.generate},
          {"padded", o.padded.value_or(o.batch > 1)}};
}

std::string TorchWorkload::text(const std::string& sizes) const {
  if (const auto* o = std::get_if<GenerationOptions>(&options())) {
    return std::string("inference in ") + name(o->precision) + ", " + sizes +
           (o->padded.value_or(o->batch > 1) ? ", padded" : "") + new_tokens_text(o->generate) +
           ", " + name(o->attention) + " attention";
  }
  const auto& o = std::get<TrainingOptions>(options());
  std::string text = std::string("training in ") + name(o.precision);
  if (o.autocast) text += std::string(" under ") + name(*o.autocast) + " autocast";
  text += std::string(" with ") + name(o.optimizer) + ", " + sizes +
          micro_batches_text(o.accumulate) + ", " + name(o.attention) + " attention";
  if (o.checkpoint) text += ", activation checkpointing";
  if (!o.lora) return text;
  text += ", LoRA of rank " + std::to_string(o.lora->rank) + " on ";
  for (std::size_t i = 0; i < o.lora->targets.size(); ++i) {
    text += (i == 0 ? "" : ", ") + o.lora->targets[i];
  }
  return text;
}

std::string TorchWorkload::types() const {
  if (const auto* o = std::get_if<GenerationOptions>(&options())) {
    return std::string("weights, activations and cache in ") + name(o->precision);
  }
  const auto& o = std::get<TrainingOptions>(options());
  const std::string weights = name(o.precision);
  std::string text = "weights, gradients and optimizer states in " + weights;
  if (o.lora) text = "adapters, their gradients and states in fp32; weights in " + weights;
  return o.autocast ? text + ", arithmetic in " + name(*o.autocast) : text;
}

}  // namespace vramfit::pytorch
