// What of a run of the step program could be changed.
#include <array>
#include <string_view>

#include "runtimes/vramfit/runtime.h"

namespace vramfit {
namespace {

/// Forms of AdamW on the card are one adjustment, that on the host is one of its own, and so is
/// another rule.
constexpr std::string_view kAdamW = "optimizer";
constexpr std::string_view kOnHost = "states in host memory";
constexpr std::string_view kNone;
constexpr std::array<std::string_view, 5> kOptimizerParts = {kAdamW, kOnHost, "Lion", "Adafactor",
                                                             "SGD"};

struct OptimizerChoice {
  const char* name;
  std::string_view part;  ///< of the adjustment that offers it
};

/// From what keeps most on the card beside weights to what keeps least.
constexpr std::array<OptimizerChoice, 10> kOptimizers = {{
    {"adamw-master", kAdamW},
    {"adamw", kAdamW},
    {"adamw-same", kAdamW},
    {"lion", "Lion"},
    {"sgd-momentum", kNone},
    {"sgd-master", kNone},
    {"adamw-8bit", kAdamW},
    {"adafactor", "Adafactor"},
    {"adamw-cpu", kOnHost},
    {"sgd", "SGD"},
}};

struct CheckpointChoice {
  Checkpointing checkpointing;
  const char* label;
};

/// By the time that they took when they were measured.
constexpr std::array<CheckpointChoice, 6> kCheckpointing = {{
    {{Checkpoint::Selective, 4}, "selective checkpointing of one block in 4"},
    {{Checkpoint::Full, 4}, "checkpointing of one block in 4"},
    {{Checkpoint::Selective, 2}, "selective checkpointing of one block in 2"},
    {{Checkpoint::Full, 2}, "checkpointing of one block in 2"},
    {{Checkpoint::Selective, 1}, "selective checkpointing"},
    {{Checkpoint::Full, 1}, "activation checkpointing"},
}};

/// "full", "selective every 4".
std::string text_of(const Checkpointing& checkpointing) {
  const std::string every = " every " + std::to_string(checkpointing.every);
  return name(checkpointing.kind) + (checkpointing.every > 1 ? every : "");
}

Choice precision_choice(const std::string& label, const std::string& from, const char* to) {
  return {label, {{"precision", from, to}}, {{"precision", to}}, {}, {}};
}

class Adjustments {
 public:
  std::vector<Adjustment> of(const TrainingOptions& o) && {
    attention(o.attention);
    if (precision_of(o) == DType::Fp32) add("precision", precision_choice("bf16", "fp32", "bf16"));
    optimizer(o.optimizer);
    checkpointing(o.checkpointing);
    adapters(o);
    if (o.batch > 1) list_.push_back(micro_batch_adjustment(o.batch, o.seq, o.accumulate));
    sequence(o.seq);
    return std::move(list_);
  }

  std::vector<Adjustment> of(const GenerationOptions& o) && {
    attention(o.attention);
    weights(o);
    if (!o.cache) {
      add("cache",
          {"8-bit cache", {{"cache", "unquantized", "int8"}}, {{"cache", "int8"}}, {}, {}});
    }
    if (o.batch > 1) list_.push_back(batch_adjustment(o.batch));
    sequence(o.seq);
    return std::move(list_);
  }

 private:
  void add(const char* part, Choice choice) {
    list_.push_back(adjustment_of(part, std::move(choice)));
  }

  void attention(AttentionForm form) {
    if (form == AttentionForm::Flash) return;
    add("attention",
        {"flash attention", {{"attention", "cublas", "flash"}}, {{"attention", "flash"}}, {}, {}});
  }

  void optimizer(const OptimizerKind& now) {
    const std::string from = now.name;
    for (const std::string_view part : kOptimizerParts) {
      if ((part == kAdamW || part == kOnHost) && now.rule != OptimizerKind::Rule::AdamW) continue;
      Adjustment adjustment{.parts = {std::string(part)}, .choices = {}};
      bool smaller = false;
      for (const auto& [to, of] : kOptimizers) {
        if (smaller && of == part) {
          adjustment.choices.push_back(
              {to, {{"optimizer", from, to}}, {{"optimizer", to}}, {}, {}});
        }
        smaller = smaller || from == to;
      }
      if (!adjustment.choices.empty()) list_.push_back(std::move(adjustment));
    }
  }

  void checkpointing(const Checkpointing& now) {
    Adjustment adjustment{.parts = {"checkpointing"}, .choices = {}};
    const bool full = now.kind == Checkpoint::Full && now.every == 1;
    for (const auto& [to, label] : kCheckpointing) {
      // Where some is done already, only all of it is sure to take less.
      const bool all = to.kind == Checkpoint::Full && to.every == 1;
      if (full || (now.kind != Checkpoint::None && !all)) continue;
      Choice choice{label,
                    {{"checkpointing", text_of(now), text_of(to)}},
                    {{"checkpoint", name(to.kind)}},
                    {},
                    {}};
      if (to.every > 1) choice.flags["checkpoint-every"] = std::to_string(to.every);
      if (to.every == 1 && now.every > 1) choice.without.emplace_back("checkpoint-every");
      adjustment.choices.push_back(std::move(choice));
    }
    if (!adjustment.choices.empty()) list_.push_back(std::move(adjustment));
  }

  void adapters(const TrainingOptions& o) {
    if (!o.lora) add("LoRA", lora_choice(false));
    if (!o.precision.quantized()) quantized_base(o, "8-bit base", "int8-wo");
    if (o.precision.linears.row().bits > 4) quantized_base(o, "4-bit base", "nf4");
  }

  /// Under adapters, which there must be.
  void quantized_base(const TrainingOptions& o, const std::string& part, const char* format) {
    Adjustment adjustment{.parts = {part}, .choices = {o.lora ? Choice{} : lora_choice(false)}};
    Choice& choice = adjustment.choices.front();
    choice.label = part + (o.lora ? "" : ", " + choice.label);
    choice.changes.push_back({"base", o.precision.name, format});
    choice.flags["precision"] = format;
    if (!o.lora) adjustment.parts.emplace_back("LoRA");
    list_.push_back(std::move(adjustment));
  }

  /// 8 bits, then 4: each is a way of its own, since they cost accuracy.
  void weights(const GenerationOptions& o) {
    const std::string now = o.precision.name;
    if (now == "fp32") add("precision", precision_choice("bf16", now, "bf16"));
    if (!o.precision.quantized()) {
      add("8-bit weights", precision_choice("8-bit weights", now, "int8-wo"));
    }
    if (o.precision.linears.row().bits > 4) {
      add("4-bit weights", precision_choice("4-bit weights", now, "int4"));
    }
  }

  void sequence(std::int64_t seq) {
    Adjustment adjustment = sequence_adjustment(seq);
    if (!adjustment.choices.empty()) list_.push_back(std::move(adjustment));
  }

  std::vector<Adjustment> list_;
};

}  // namespace

std::vector<Adjustment> StepWorkload::adjustments(const ModelConfig&) const {
  return std::visit([](const auto& o) { return Adjustments().of(o); }, options());
}

std::vector<Adjustment> StepWorkload::gpu_adjustments() const {
  const auto* training = std::get_if<TrainingOptions>(&options());
  if (training == nullptr) return {};
  const Mesh& mesh = training->mesh;
  struct Sharing {
    Strategy strategy;
    const char* label;
    const char* flag;
  };
  std::vector<Adjustment> list;
  if (mesh.ranks == 1 && training->batch > 1) {
    list.push_back(shared_batch_adjustment(training->batch, nullptr));
  }
  for (const auto& [strategy, label, flag] :
       {Sharing{Strategy::Zero1, "ZeRO-1", "zero1"}, Sharing{Strategy::Zero2, "ZeRO-2", "zero2"},
        Sharing{Strategy::Fsdp, "FSDP", "fsdp"}}) {
    if (mesh.ranks > 1 && mesh.strategy != strategy) continue;
    Adjustment adjustment = gpus_adjustment(label, flag, nullptr, {}, mesh.ranks);
    if (!adjustment.choices.empty()) list.push_back(std::move(adjustment));
  }
  return list;
}

}  // namespace vramfit
