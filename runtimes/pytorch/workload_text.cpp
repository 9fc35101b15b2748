// What a run under PyTorch is, in words.
#include <nlohmann/json.hpp>

#include "runtimes/notes.h"
#include "runtimes/pytorch/read_distributed.h"
#include "runtimes/pytorch/runtime.h"

namespace vramfit::pytorch {
namespace {

/// ", on each of 2 GPUs under fsdp", ", over 2 GPUs by tp"
std::string text_of(const Distributed& distributed) {
  if (cuts_model(distributed)) {
    const bool by_gpipe = distributed.strategy == DistributedStrategy::Pipeline &&
                          distributed.schedule == PipelineSchedule::GPipe;
    return ", over " + std::to_string(distributed.gpus) + " GPUs by " + name(distributed) +
           (by_gpipe ? " (gpipe)" : "");
  }
  std::string text =
      ", on each of " + std::to_string(distributed.gpus) + " GPUs under " + name(distributed);
  if (distributed.bucket_view) text += " with gradients as views of buckets";
  if (!distributed.reshard_after_forward) text += " without resharding after forward";
  return text;
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

/// What an optimizer keeps its states in, of parameters of type `trained`.
std::string states_type(TorchOptimizer kind, const std::string& trained) {
  switch (kind) {
    case TorchOptimizer::AdamW8bit:
    case TorchOptimizer::PagedAdamW8bit:
      return "8 bits";
    case TorchOptimizer::PagedAdamW32bit:
    case TorchOptimizer::AdafactorTransformers:
      return "fp32";
    default:
      return trained;
  }
}

}  // namespace

std::string TorchWorkload::about() const {
  const bool quantised = pretrained() && pretrained()->quantization;
  return "PyTorch " + short_text(release_->torch) +
         (release_->simulated ? " (only " + short_text(runtime_->usual().torch) + " was measured)"
                              : "") +
         " and transformers " + short_text(release_->transformers) +
         (quantised ? " with bitsandbytes " + short_text(release_->bitsandbytes) : "") +
         ", eager mode. --runtime vramfit is this project's own step, which needs less.";
}

nlohmann::ordered_json TorchWorkload::release() const {
  return {{"name", release_->name},
          {"torch", pytorch::text(release_->torch)},
          {"transformers", pytorch::text(release_->transformers)},
          {"peft", pytorch::text(release_->peft)},
          {"accelerate", pytorch::text(release_->accelerate)},
          {"bitsandbytes", pytorch::text(release_->bitsandbytes)},
          {"cuda", short_text(release_->cuda)},
          {"cudnn", pytorch::text(release_->cudnn)}};
}

// 16-bit weights by themselves, or fp32 ones under autocast: both are what people call mixed
// precision, and half of them have the other in mind.
std::optional<Choice> TorchWorkload::also_meant() const {
  const auto* o = std::get_if<TorchTraining>(&options());
  if (o == nullptr || o->lora || is_stage(*o)) return {};
  if (o->distributed && o->distributed->mixed_precision) return {};
  if (o->precision != DType::Fp32) {
    const std::string cast = name(o->autocast.value_or(o->precision));
    return Choice{.label = "fp32 weights under --autocast " + cast,
                  .flags = {{"precision", "fp32"}, {"autocast", cast}}};
  }
  if (!o->autocast) return {};
  const std::string type = name(*o->autocast);
  return Choice{.label = "--precision " + type + " without autocast",
                .flags = {{"precision", type}},
                .without = {"autocast"}};
}

// GradScaler refuses to unscale gradients in fp16.
std::vector<std::string> TorchWorkload::cautions() const {
  const auto* o = std::get_if<TorchTraining>(&options());
  if (o == nullptr || o->precision != DType::Fp16 || o->autocast || o->lora) return {};
  return {
      "training in pure fp16 is seldom stable; --precision bf16 takes as much, --precision fp32 "
      "--autocast fp16 is what GradScaler is for"};
}

std::string TorchWorkload::text(const std::string& sizes) const {
  if (const auto* o = std::get_if<TorchGeneration>(&options())) {
    std::string text = std::string("inference in ") + name(o->precision);
    if (o->pretrained && o->pretrained->quantization) {
      text += ", linears in " + text_of(*o->pretrained->quantization, name(o->precision));
    }
    text += ", " + sizes + (o->padded.value_or(o->batch > 1) ? ", padded" : "") +
            new_tokens_text(o->generate) + ", " + name(o->attention) + " attention";
    if (o->static_cache) text += ", static cache";
    if (o->pretrained && o->pretrained->auto_device_map) text += ", device_map auto";
    if (o->pretrained && o->pretrained->tp > 1) {
      text += ", tp over " + std::to_string(o->pretrained->tp) + " GPUs";
    }
    if (o->pretrained && o->pretrained->gpus > 1) {
      text += " over " + std::to_string(o->pretrained->gpus) + " GPUs";
    }
    return text;
  }
  const auto& o = std::get<TorchTraining>(options());
  std::string text = std::string("training in ") + name(o.precision);
  if (o.autocast) text += std::string(" under ") + name(*o.autocast) + " autocast";
  if (o.pretrained && o.pretrained->quantization) {
    text += ", linears in " + text_of(*o.pretrained->quantization, name(o.precision)) + ",";
  }
  text += std::string(" with ") + name(o.optimizer) + ", " + sizes +
          micro_batches_text(o.accumulate) + ", " + name(o.attention) + " attention";
  if (o.checkpoint != GradientCheckpointing::None) text += ", activation checkpointing";
  if (o.checkpoint == GradientCheckpointing::Reentrant) text += " (reentrant)";
  if (o.distributed) text += text_of(*o.distributed);
  if (o.loss_only) text += ", keeping the loss alone";
  if (o.fused_head) text += ", the loss by TRL's fused head";
  if (!o.lora) return text;
  text += ", LoRA of rank " + std::to_string(o.lora->rank) + " on ";
  for (std::size_t i = 0; i < o.lora->targets.size(); ++i) {
    text += (i == 0 ? "" : ", ") + o.lora->targets[i];
  }
  if (o.lora->dropout > 0) text += ", with dropout";
  return text;
}

std::string TorchWorkload::types() const {
  if (const auto* o = std::get_if<TorchGeneration>(&options())) {
    const std::string precision = name(o->precision);
    if (!o->pretrained || !o->pretrained->quantization) {
      return "weights, activations and cache in " + precision;
    }
    return "linears of the blocks in " + text_of(*o->pretrained->quantization, name(o->precision)) +
           ", everything else in " + precision;
  }
  const auto& o = std::get<TorchTraining>(options());
  const std::string weights = name(o.precision);
  // Adapters are trained in fp32, whatever the weights are in.
  const std::string trained = o.lora ? "fp32" : weights;
  const std::string states = states_type(o.optimizer, trained);
  const std::string of_states = (o.lora ? "states in " : "optimizer states in ") + states;
  std::string text;
  if (states == trained) {
    text = (o.lora ? "adapters, their gradients and " : "weights, gradients and ") + of_states;
  } else {
    text = (o.lora ? "adapters and their gradients in " : "weights and gradients in ") + trained +
           ", " + of_states;
  }
  if (o.pretrained && o.pretrained->quantization) {
    text += "; linears of the blocks in " +
            text_of(*o.pretrained->quantization, name(o.precision)) +
            ", all other weights in fp32 (prepare_model_for_kbit_training)";
  } else if (o.lora) {
    text += "; weights in " + weights;
  }
  if (o.distributed && o.distributed->mixed_precision) {
    text += std::string(", layers and their gradients in ") +
            name(o.distributed->mixed_precision->param) + ", summed in " +
            name(o.distributed->mixed_precision->reduce);
  }
  return o.autocast ? text + ", arithmetic in " + name(*o.autocast) : text;
}

}  // namespace vramfit::pytorch
