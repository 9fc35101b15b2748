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
  options.pretrained = pretrained(flags, name(options.precision));
  if (options.pretrained && options.pretrained->auto_device_map) {
    throw BadInput("device-map: auto is for inference: what lies on the host is not trained; cuda");
  }
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
      {"quant", With::Inference,
       "int8, nf4 or fp4: linears of the blocks in bitsandbytes' format (BitsAndBytesConfig)"},
      {"double-quant", With::Inference, "with --quant nf4 or fp4: scales are quantised too", false},
      {"quant-compute", With::Inference,
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

const std::optional<Pretrained>& TorchWorkload::pretrained() const {
  return std::visit([](const auto& o) -> const std::optional<Pretrained>& { return o.pretrained; },
                    options());
}

bool TorchWorkload::depends_on_capacity() const {
  return pretrained() && pretrained()->auto_device_map;
}

namespace {

void note_quantization(const Quantization& quantization, std::vector<std::string>& notes) {
  if (quantization.format != Quantization::Format::Int8) return;
  notes.emplace_back(
      "LLM.int8() keeps columns of outliers in 16 bits: as many are assumed as random weights "
      "have; "
      "trained ones mostly have fewer, and take less");
}

void note_on_host(const OnHost& host, std::int64_t layers, const Pretrained& pretrained,
                  std::vector<std::string>& notes) {
  if (pretrained.quantization) {
    notes.emplace_back(
        "device_map auto: transformers quantises nothing that it would leave on the host, and "
        "refuses to load");
    return;
  }
  notes.push_back("device_map auto leaves " + std::to_string(host.layers) + " of " +
                  std::to_string(layers) + " layers, " + std::to_string(host.bytes / 1'000'000) +
                  " MB, on the host: each is copied to the GPU in every forward, which is slow");
}

}  // namespace

Outcome TorchWorkload::run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig& config,
                           const Extent& extent) const {
  Outcome outcome;
  const Release& release = runtime_->versions();
  if (const auto* generation = std::get_if<GenerationOptions>(&options())) {
    outcome.report =
        pytorch::run(gpu, release, config, *generation, extent, capacity, &outcome.on_host);
  } else {
    const auto& training = std::get<TrainingOptions>(options());
    outcome.report = pytorch::run(gpu, release, config, training, extent, capacity);
  }
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
  if (const auto& arguments = pretrained()) {
    if (arguments->quantization) note_quantization(*arguments->quantization, outcome.notes);
    if (outcome.on_host) note_on_host(*outcome.on_host, config.layers, *arguments, outcome.notes);
  }
  if (const auto* generation = std::get_if<GenerationOptions>(&options())) {
    if (generation->static_cache) {
      outcome.notes.emplace_back(
          "with a static cache generate() compiles what it decodes with, which takes more, unless "
          "disable_compile is set: this is without");
    }
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

namespace {

Json json_of(const std::optional<Pretrained>& pretrained) {
  if (!pretrained || !pretrained->quantization) return nullptr;
  const Quantization& quantization = *pretrained->quantization;
  const bool four_bits = quantization.format != Quantization::Format::Int8;
  return {{"format", name(quantization.format)},
          {"double_quant", quantization.double_quant},
          {"compute", four_bits ? Json(name(quantization.compute)) : Json(nullptr)}};
}

Json device_map(const std::optional<Pretrained>& pretrained) {
  if (!pretrained) return nullptr;
  return pretrained->auto_device_map ? "auto" : "cuda";
}

/// "nf4 (double quantisation, fp32 arithmetic) by bitsandbytes"
std::string text_of(const Quantization& quantization, const char* precision) {
  std::string how = quantization.double_quant ? "double quantisation" : "";
  const std::string compute = name(quantization.compute);
  if (quantization.format != Quantization::Format::Int8 && compute != precision) {
    how += (how.empty() ? "" : ", ") + compute + " arithmetic";
  }
  return std::string(name(quantization.format)) + (how.empty() ? "" : " (" + how + ")") +
         " by bitsandbytes";
}

}  // namespace

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
                 {"lora", nullptr},
                 {"device_map", device_map(o->pretrained)}};
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
          {"padded", o.padded.value_or(o.batch > 1)},
          {"quant", json_of(o.pretrained)},
          {"device_map", device_map(o.pretrained)},
          {"cache_implementation", o.static_cache ? "static" : "dynamic"},
          {"again", o.again}};
}

std::string TorchWorkload::text(const std::string& sizes) const {
  if (const auto* o = std::get_if<GenerationOptions>(&options())) {
    std::string text = std::string("inference in ") + name(o->precision);
    if (o->pretrained && o->pretrained->quantization) {
      text += ", linears in " + text_of(*o->pretrained->quantization, name(o->precision));
    }
    text += ", " + sizes + (o->padded.value_or(o->batch > 1) ? ", padded" : "") +
            new_tokens_text(o->generate) + ", " + name(o->attention) + " attention";
    if (o->static_cache) text += ", static cache";
    if (o->pretrained && o->pretrained->auto_device_map) text += ", device_map auto";
    return text;
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
    const std::string precision = name(o->precision);
    if (!o->pretrained || !o->pretrained->quantization) {
      return "weights, activations and cache in " + precision;
    }
    return "linears of the blocks in " + text_of(*o->pretrained->quantization, name(o->precision)) +
           ", everything else in " + precision;
  }
  const auto& o = std::get<TrainingOptions>(options());
  const std::string weights = name(o.precision);
  std::string text = "weights, gradients and optimizer states in " + weights;
  if (o.lora) text = "adapters, their gradients and states in fp32; weights in " + weights;
  return o.autocast ? text + ", arithmetic in " + name(*o.autocast) : text;
}

}  // namespace vramfit::pytorch
