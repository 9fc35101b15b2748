// What of a run under PyTorch could be changed, in the words of transformers' Trainer, of
// from_pretrained, PEFT and bitsandbytes.
#include <algorithm>
#include <array>
#include <span>

#include "runtimes/pytorch/runtime.h"
#include "runtimes/pytorch/transformers/modules/families/families.h"

namespace vramfit::pytorch {
namespace {

constexpr const char* kTrainer = "TrainingArguments";
constexpr const char* kLoader = "from_pretrained";
constexpr const char* kQuantizer = "BitsAndBytesConfig";
constexpr const char* kAdapter = "LoraConfig";
constexpr const char* kTokenizer = "tokenizer";
constexpr std::int64_t kMostGpusOfAHost = 16;

struct OptimizerChoice {
  TorchOptimizer kind;
  const char* label;
  const char* optim;  ///< the Trainer's
};

/// AdamW, from what keeps most to what keeps least on the card: paged states lie in the host's
/// memory where the card has no room, which takes time. SGD would keep no less.
constexpr std::array<OptimizerChoice, 3> kAdamW = {{
    {TorchOptimizer::AdamWFused, "fused AdamW", "adamw_torch_fused"},
    {TorchOptimizer::AdamW8bit, "8-bit AdamW", "adamw_bnb_8bit"},
    {TorchOptimizer::PagedAdamW8bit, "paged 8-bit AdamW", "paged_adamw_8bit"},
}};
constexpr std::array<OptimizerChoice, 1> kAdafactor = {{
    {TorchOptimizer::AdafactorTransformers, "Adafactor", "adafactor"},
}};

/// Forms of AdamW that keep less than `kind`; none of what is no AdamW.
std::span<const OptimizerChoice> smaller_adamw(TorchOptimizer kind) {
  const std::span<const OptimizerChoice> all = kAdamW;
  switch (kind) {
    case TorchOptimizer::AdamW:
    case TorchOptimizer::AdamWLoop:
      return all;
    case TorchOptimizer::AdamWFused:
      return all.subspan(1);
    case TorchOptimizer::AdamW8bit:
      return all.subspan(2);
    default:
      return {};
  }
}

/// "torch.bfloat16"
std::string torch_type(const std::string& type) {
  return "torch." + std::string(type == "bf16"   ? "bfloat16"
                                : type == "fp16" ? "float16"
                                                 : "float32");
}

class Adjustments {
 public:
  explicit Adjustments(const ModelConfig& model) : model_(model) {}

  std::vector<Adjustment> of(const TorchTraining& o) && {
    attention(o.attention);
    const bool shards = o.distributed && o.distributed->strategy == DistributedStrategy::Fsdp;
    if (!o.distributed || !o.distributed->mixed_precision) precision(o);
    const bool cuts = o.distributed && cuts_model(*o.distributed);
    if (!shards && !cuts) optimizer(o.optimizer);
    checkpointing(o);
    if (!shards && !cuts) adapters(o);
    if (!o.distributed) quantized_base(o);
    micro_batch(o);
    sequence(o.seq);
    return std::move(list_);
  }

  std::vector<Adjustment> of(const TorchGeneration& o) && {
    attention(o.attention);
    if (o.precision == DType::Fp32) {
      add("precision", {"weights in bf16",
                        {{"precision", "fp32", "bf16"}},
                        {{"precision", "bf16"}},
                        {},
                        {{kLoader, "dtype=" + torch_type("bf16")}}});
    }
    const bool cuts = o.pretrained && o.pretrained->tp > 1;
    if (!cuts) quantized_model(o);
    if (o.batch > 1) list_.push_back(batch_adjustment(o.batch));
    sequence(o.seq);
    if (!cuts && (!o.pretrained || !o.pretrained->quantization)) offload(o);
    return std::move(list_);
  }

 private:
  void add(const char* part, Choice choice) {
    list_.push_back(adjustment_of(part, std::move(choice)));
  }

  void attention(AttentionKind kind) {
    if (kind == AttentionKind::Sdpa) return;
    add("attention", {"sdpa attention",
                      {{"attention", "eager", "sdpa"}},
                      {{"attention", "sdpa"}},
                      {},
                      {{kLoader, "attn_implementation=\"sdpa\""}}});
  }

  /// 16-bit weights. Beside quantised ones all others are in fp32, whatever they were.
  void precision(const TorchTraining& o) {
    const bool quantized = o.pretrained && o.pretrained->quantization;
    if (o.precision != DType::Fp32 || quantized) return;
    const std::string type = name(o.autocast.value_or(DType::Bf16));
    Choice choice{"weights in " + type, {}, {{"precision", type}}, {}, {}};
    choice.script.push_back({kLoader, "dtype=" + torch_type(type)});
    if (o.autocast) {
      choice.without.emplace_back("autocast");
      choice.script.push_back({kTrainer, type + "=False"});
    }
    choice.changes = {{"precision", o.autocast ? "fp32 under autocast" : "fp32", type}};
    add("precision", std::move(choice));
  }

  void optimizer(TorchOptimizer now) {
    const std::span<const OptimizerChoice> smaller = smaller_adamw(now);
    if (smaller.empty()) return;
    list_.push_back(adjustment("optimizer", now, smaller));
    list_.push_back(adjustment("Adafactor", now, kAdafactor));
  }

  static Adjustment adjustment(const char* part, TorchOptimizer now,
                               std::span<const OptimizerChoice> choices) {
    Adjustment adjustment{.parts = {part}, .choices = {}};
    for (const OptimizerChoice& to : choices) {
      adjustment.choices.push_back({to.label,
                                    {{"optimizer", name(now), name(to.kind)}},
                                    {{"optimizer", name(to.kind)}},
                                    {},
                                    {{kTrainer, "optim=\"" + std::string(to.optim) + "\""}}});
    }
    return adjustment;
  }

  /// LLM.int8() keeps its inputs unless the reentrant form lets go of them.
  void checkpointing(const TorchTraining& o) {
    const bool reentrant = keeps_outliers(o.pretrained);
    const GradientCheckpointing best =
        reentrant ? GradientCheckpointing::Reentrant : GradientCheckpointing::Full;
    if (o.checkpoint == best || o.checkpoint == GradientCheckpointing::Reentrant) return;
    const std::string from = o.checkpoint == GradientCheckpointing::None ? "none" : "full";
    Choice choice{"activation checkpointing",
                  {{"checkpointing", from, reentrant ? "reentrant" : "full"}},
                  {{"checkpoint", reentrant ? "reentrant" : "full"}},
                  {},
                  {{kTrainer, "gradient_checkpointing=True"}}};
    if (reentrant) {
      choice.label += " (reentrant)";
      choice.script.push_back(
          {kTrainer, "gradient_checkpointing_kwargs={\"use_reentrant\": True}"});
    }
    add("checkpointing", std::move(choice));
  }

  Choice lora() const {
    const auto targets = peft_targets(model_);
    Choice choice = lora_choice(targets.empty());
    std::string list;
    for (const std::string& target : targets) {
      list += (list.empty() ? "\"" : ", \"") + target + "\"";
    }
    choice.script = {
        {kAdapter, "r=" + std::string(kUsualRank)},
        {kAdapter, "target_modules=" + (targets.empty() ? "\"all-linear\"" : "[" + list + "]")}};
    return choice;
  }

  void adapters(const TorchTraining& o) {
    if (!o.lora) add("LoRA", lora());
  }

  /// `precision` is what --quant-compute is unless said.
  static void quantize(Choice& choice, const char* format, const std::string& compute,
                       const std::string& precision) {
    choice.flags["quant"] = format;
    const bool four_bits = std::string(format) != name(Quantization::Format::Int8);
    if (!four_bits) {
      choice.script.push_back({kQuantizer, "load_in_8bit=True"});
      return;
    }
    if (compute != precision) choice.flags["quant-compute"] = compute;
    for (const std::string& argument :
         {std::string("load_in_4bit=True"), "bnb_4bit_quant_type=\"" + std::string(format) + "\"",
          "bnb_4bit_compute_dtype=" + torch_type(compute)}) {
      choice.script.push_back({kQuantizer, argument});
    }
  }

  static std::string format_of(const std::optional<Pretrained>& pretrained) {
    if (!pretrained || !pretrained->quantization) return "none";
    const Quantization& quantization = *pretrained->quantization;
    return name(quantization.format) + std::string(quantization.double_quant ? "-dq" : "");
  }

  /// QLoRA: the model in 4 bits under adapters, with the scales quantised too, as in its paper.
  void quantized_base(const TorchTraining& o) {
    const std::string now = format_of(o.pretrained);
    if (now.ends_with("-dq")) return;
    Choice choice = o.lora ? Choice{} : lora();
    choice.label = o.lora ? "4-bit base" : "4-bit base, " + choice.label;
    choice.changes.push_back({"base", now, "nf4-dq"});
    quantize(choice, "nf4", name(o.autocast.value_or(o.precision)), name(o.precision));
    choice.flags["double-quant"] = "";
    choice.script.push_back({kQuantizer, "bnb_4bit_use_double_quant=True"});
    Adjustment adjustment{.parts = {"4-bit base"}, .choices = {std::move(choice)}};
    if (!o.lora) adjustment.parts.emplace_back("LoRA");
    list_.push_back(std::move(adjustment));
  }

  void quantized_model(const TorchGeneration& o) {
    const std::string now = format_of(o.pretrained);
    const std::string compute = o.precision == DType::Fp32 ? "bf16" : name(o.precision);
    if (now == "none") {
      Choice choice{"8-bit weights", {{"weights", now, "int8"}}, {}, {}, {}};
      quantize(choice, "int8", compute, name(o.precision));
      add("8-bit weights", std::move(choice));
    }
    if (now != "none" && now != "int8") return;
    Choice choice{"4-bit weights", {{"weights", now, "nf4"}}, {}, {}, {}};
    quantize(choice, "nf4", compute, name(o.precision));
    add("4-bit weights", std::move(choice));
  }

  void micro_batch(const TorchTraining& o) {
    if (o.batch == 1) return;
    Adjustment adjustment = micro_batch_adjustment(o.batch, o.seq, o.accumulate);
    for (Choice& choice : adjustment.choices) {
      choice.script = {{kTrainer, "per_device_train_batch_size=" + choice.flags.at("batch")},
                       {kTrainer, "gradient_accumulation_steps=" + choice.flags.at("accumulate")}};
    }
    list_.push_back(std::move(adjustment));
  }

  void sequence(std::int64_t seq) {
    Adjustment adjustment = sequence_adjustment(seq);
    for (Choice& choice : adjustment.choices) {
      choice.script = {{kTokenizer, "truncation=True"},
                       {kTokenizer, "max_length=" + choice.flags.at("seq")}};
    }
    if (!adjustment.choices.empty()) list_.push_back(std::move(adjustment));
  }

  /// What does not fit stays on the host, unquantised: transformers quantises nothing there.
  void offload(const TorchGeneration& o) {
    if (o.pretrained && o.pretrained->auto_device_map) return;
    add("offload", {"layers left on the host",
                    {{"device map", "cuda", "auto"}},
                    {{"device-map", "auto"}},
                    {"quant", "quant-compute"},
                    {{kLoader, "device_map=\"auto\""}}});
  }

  const ModelConfig& model_;
  std::vector<Adjustment> list_;
};

}  // namespace

std::vector<Adjustment> TorchWorkload::adjustments(const ModelConfig& config) const {
  return std::visit([&](const auto& o) { return Adjustments(config).of(o); }, options());
}

namespace {

constexpr std::int64_t kUsualHost = 8;  ///< GPUs of a host, where there are more than that

std::string by_torchrun(std::int64_t gpus) {
  const bool one_host = gpus <= kUsualHost || gpus % kUsualHost != 0;
  const std::string hosts = one_host ? "" : "--nnodes " + std::to_string(gpus / kUsualHost) + " ";
  return "torchrun " + hosts + "--nproc-per-node " + std::to_string(one_host ? gpus : kUsualHost) +
         " train.py";
}

std::string by_accelerate(std::int64_t gpus) {
  const std::string hosts =
      gpus > kUsualHost ? " --num_machines " + std::to_string(gpus / kUsualHost) : "";
  return "accelerate launch --use_fsdp --fsdp_version 2 --num_processes " + std::to_string(gpus) +
         hosts + " train.py";
}

/// A strategy that shares the model itself, of which more GPUs each have less.
Adjustment sharing(DistributedStrategy strategy, bool accelerates, std::int64_t now) {
  if (strategy == DistributedStrategy::Zero1) {
    return gpus_adjustment("ZeRO-1", "zero1", by_torchrun,
                           {{"ZeroRedundancyOptimizer", "model.parameters()"},
                            {"ZeroRedundancyOptimizer", "optimizer_class=torch.optim.AdamW"}},
                           now);
  }
  if (accelerates) {
    return gpus_adjustment("Accelerate's FSDP2", "fsdp-accelerate", by_accelerate, {}, now);
  }
  return gpus_adjustment("FSDP2", "fsdp", by_torchrun, {{"fully_shard", "each layer, then model"}},
                         now);
}

std::vector<Adjustment> gpus_of(const TorchTraining& o) {
  std::vector<Adjustment> list;
  if (const auto& now = o.distributed) {
    if (now->strategy == DistributedStrategy::Ddp || cuts_model(*now)) return {};
    Adjustment more = sharing(now->strategy, now->by_accelerate, now->gpus);
    if (!more.choices.empty()) list.push_back(std::move(more));
    return list;
  }
  if (o.batch > 1) list.push_back(shared_batch_adjustment(o.batch, by_torchrun));
  list.push_back(sharing(DistributedStrategy::Zero1, false, 1));
  list.push_back(sharing(DistributedStrategy::Fsdp, false, 1));
  list.push_back(sharing(DistributedStrategy::Fsdp, true, 1));
  return list;
}

/// device_map="auto" over the GPUs of a host.
std::vector<Adjustment> gpus_of(const TorchGeneration& o) {
  if (o.pretrained &&
      (o.pretrained->auto_device_map || o.pretrained->quantization || o.pretrained->tp > 1)) {
    return {};
  }
  Adjustment adjustment =
      gpus_adjustment("layers", "pipeline", nullptr, {{kLoader, "device_map=\"auto\""}});
  std::erase_if(adjustment.choices, [](const Choice& choice) {
    return std::stoll(choice.flags.at("gpus")) > kMostGpusOfAHost;
  });
  return {adjustment};
}

}  // namespace

std::vector<Adjustment> TorchWorkload::gpu_adjustments() const {
  return std::visit([](const auto& o) { return gpus_of(o); }, options());
}

}  // namespace vramfit::pytorch
