#include "runtimes/pytorch/options.h"

#include <algorithm>

#include "model/errors.h"
#include "model/format.h"
#include "model/transformer/lora.h"
#include "model/transformer/sizes.h"
#include "runtimes/pytorch/transformers/modules/families/families.h"
#include "runtimes/pytorch/transformers/parallel/pipeline_part.h"
#include "runtimes/pytorch/transformers/parallel/tp_plan.h"

namespace vramfit::pytorch {
namespace {

std::int64_t positions_of(const ModelConfig& config) {
  return config.learned_positions() ? std::min(config.max_positions, kMaxSeq) : kMaxSeq;
}

void require_sizes(const ModelConfig& config, DType precision, std::int64_t batch,
                   std::int64_t seq) {
  if (precision == DType::Fp64) {
    throw BadInput("precision: fp64 is for tests on the CPU; fp32, fp16 or bf16");
  }
  vramfit::require_sizes(batch, seq);
  if (seq <= positions_of(config)) return;
  throw BadInput("seq: " + std::to_string(seq) + " tokens; " + config.name + " takes at most " +
                 std::to_string(positions_of(config)));
}

/// A prompt that has room by itself, but not with the new tokens.
void require_room(const ModelConfig& config, const TorchGeneration& options) {
  require_size("generate", options.generate, kMaxSeq);
  const std::int64_t needed = options.seq + options.generate - 1;
  if (needed <= positions_of(config)) return;
  throw BadInput("generate: a prompt of " + std::to_string(options.seq) + " and " +
                 std::to_string(options.generate) + " new tokens need " + std::to_string(needed) +
                 " positions; " + config.name + " takes " + std::to_string(positions_of(config)));
}

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

}  // namespace

const char* name(AttentionKind kind) { return kind == AttentionKind::Sdpa ? "sdpa" : "eager"; }

Quantization::Format parse_format(const std::string& text) {
  return text == "int8"  ? Quantization::Format::Int8
         : text == "nf4" ? Quantization::Format::Nf4
                         : Quantization::Format::Fp4;
}

const char* name(Quantization::Format format) {
  switch (format) {
    case Quantization::Format::Int8:
      return "int8";
    case Quantization::Format::Nf4:
      return "nf4";
    case Quantization::Format::Fp4:
      break;
  }
  return "fp4";
}

const char* name(ScalarType type) {
  return type == ScalarType::Half ? "fp16" : type == ScalarType::BFloat16 ? "bf16" : "fp32";
}

ScalarType parse_type(const std::string& text) {
  for (const auto type : {ScalarType::Float, ScalarType::Half, ScalarType::BFloat16}) {
    if (text == name(type)) return type;
  }
  throw BadInput("precision: unknown '" + text + "'; " + one_of(type_names()));
}

std::vector<std::string> type_names() { return {"fp32", "fp16", "bf16"}; }

std::vector<std::string> projection_names(const ModelConfig& config) {
  if (config.taped) return config.taped->projections;
  const auto names = family_of(config).projections;
  return {names.begin(), names.end()};
}

std::vector<std::string> peft_targets(const ModelConfig& config) {
  if (config.taped) return config.taped->lora_targets;
  const auto names = family_of(config).lora_targets;
  return {names.begin(), names.end()};
}

std::vector<std::string> default_lora_targets(const ModelConfig& config) {
  const std::vector<std::string> names = peft_targets(config);
  if (names.empty()) {
    throw BadInput("lora-targets: PEFT has no default for " + config.family +
                   "; all-linear, or some of " + list_of(projection_names(config)));
  }
  return names;
}

namespace {

const std::vector<std::string> kNoTargets;

/// What tapes do not say yet.
void require_taped(const ModelConfig& config, const TorchOptions& options) {
  const std::string instead =
      " is not predicted of " + config.family + " yet; vramfit model runs it";
  const auto& pretrained = std::visit(
      [](const auto& o) -> const auto& { return o.pretrained; }, options);
  if (pretrained && (pretrained->tp > 1 || keeps_outliers(pretrained))) {
    throw BadInput((pretrained->tp > 1 ? "strategy: tp" : "quant: int8") + instead);
  }
  if (pretrained && config.taped->has_experts) {
    throw BadInput("model: from_pretrained, which merges experts," + instead);
  }
  if (const auto* generation = std::get_if<TorchGeneration>(&options)) {
    if (generation->static_cache) throw BadInput("cache-implementation: static" + instead);
    return;
  }
  const auto& training = std::get<TorchTraining>(options);
  // Layers that call no linear of torch (openai-gpt, falcon): what LoRA adapts is not known.
  if (training.lora && config.taped->projections.empty()) throw BadInput("lora:" + instead);
  const std::vector<std::string>& targets = training.lora ? training.lora->targets : kNoTargets;
  const std::vector<std::string>& experts = config.taped->expert_targets;
  const auto target =
      std::find_first_of(targets.begin(), targets.end(), experts.begin(), experts.end());
  if (target != targets.end()) {
    throw BadInput("lora-targets: for " + *target + " PEFT adapts the experts, too, which" +
                   instead);
  }
  const auto& distributed = training.distributed;
  if (distributed && cuts_model(*distributed)) {
    throw BadInput("strategy: cutting the model is not predicted of " + config.family +
                   " yet; fsdp, ddp or zero1, or vramfit run");
  }
}

}  // namespace

void validate(const ModelConfig& config, const TorchOptions& options) {
  if (config.taped) require_taped(config, options);
  std::visit([&](const auto& o) { require_sizes(config, o.precision, o.batch, o.seq); }, options);
  const auto& pretrained = std::visit(
      [](const auto& o) -> const auto& { return o.pretrained; }, options);
  if (pretrained && pretrained->tp > 1) require_tp(config, pretrained->tp);
  if (const auto* generation = std::get_if<TorchGeneration>(&options)) {
    require_room(config, *generation);
    return;
  }
  const auto& training = std::get<TorchTraining>(options);
  if (is_stage(training)) require_parts(config, training.distributed->gpus);
  require_size("accumulate", training.accumulate, kMaxAccumulate);
  const bool quantized = training.pretrained && training.pretrained->quantization;
  if (quantized && !training.lora) {
    throw BadInput(
        "quant: quantised weights are not trained; --lora 16 trains adapters beside them");
  }
  if (training.autocast && !is_16_bit(*training.autocast)) {
    throw BadInput("autocast: bf16 or fp16");
  }
  // torch/amp/grad_scaler.py: "Attempting to unscale FP16 gradients."; of bf16 the CUDA kernel
  // (_amp_foreach_non_finite_check_and_unscale_) knows nothing.
  if (training.autocast == DType::Fp16 && is_16_bit(training.precision) && !training.lora) {
    throw BadInput(
        "autocast: fp16 needs GradScaler, which takes no gradients in 16 bits; --precision "
        "fp32");
  }
  if (training.fused_head && training.distributed) {
    throw BadInput("fused-lm-head: is predicted of one GPU; vramfit run runs it over several");
  }
  if (training.fused_head && config.head_bias) {
    throw BadInput(
        "fused-lm-head: is not predicted of a head with a bias; vramfit run, or whole logits "
        "without it");
  }
  if (training.lora) {
    require_lora(config.family, training.lora->rank, training.lora->targets,
                 projection_names(config));
  }
}

std::int64_t seq_limit(const ModelConfig& config, const TorchOptions& options) {
  const std::int64_t positions = positions_of(config);
  const auto* generation = std::get_if<TorchGeneration>(&options);
  if (generation == nullptr) return positions;
  return positions - (std::clamp<std::int64_t>(generation->generate, 1, kMaxSeq) - 1);
}

}  // namespace vramfit::pytorch
