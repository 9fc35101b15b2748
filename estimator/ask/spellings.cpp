#include "estimator/ask/spellings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "estimator/ask/not_yet.h"
#include "model/errors.h"

namespace vramfit {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

/// transformers' TrainingArguments and from_pretrained, PEFT's LoraConfig, what torchrun and
/// accelerate launch take: theirs, and fit's own.
constexpr std::array<Pair, 22> kFlags = {{
    {"model-name-or-path", "model"},
    {"torch-dtype", "precision"},
    {"dtype", "precision"},
    {"per-device-train-batch-size", "batch"},
    {"gradient-accumulation-steps", "accumulate"},
    {"max-seq-length", "seq"},
    {"max-length", "seq"},
    {"max-new-tokens", "generate"},
    {"attn-implementation", "attention"},
    {"optim", "optimizer"},
    {"lora-r", "lora"},
    {"lora-target-modules", "lora-targets"},
    {"bnb-4bit-quant-type", "quant"},
    {"bnb-4bit-compute-dtype", "quant-compute"},
    {"bnb-4bit-use-double-quant", "double-quant"},
    {"nproc-per-node", "gpus"},
    {"num-processes", "gpus"},
    {"num-gpus", "gpus"},
    {"ddp-bucket-cap-mb", "bucket-cap-mb"},
    {"gradient-as-bucket-view", "bucket-view"},
    {"ddp-gradient-as-bucket-view", "bucket-view"},
    {"fsdp-reshard-after-forward", "reshard-after-forward"},
}};
constexpr std::string_view kEightBits = "load-in-8bit";
constexpr std::string_view kFourBits = "load-in-4bit";
constexpr std::string_view kCheckpointing = "gradient-checkpointing";
constexpr std::string_view kCheckpointingArguments = "gradient-checkpointing-kwargs";

constexpr std::array<Pair, 6> kOptimizers = {{
    {"adamw_torch", "adamw"},
    {"adamw_torch_fused", "adamw-fused"},
    {"adamw_bnb_8bit", "adamw-8bit"},
    {"adamw_8bit", "adamw-8bit"},
    {"paged_adamw_8bit", "paged-adamw-8bit"},
    {"paged_adamw_32bit", "paged-adamw-32bit"},
}};
/// TrainingArguments' own, which only a Trainer takes.
constexpr std::array<std::string_view, 4> kOfATrainer = {"per-device-train-batch-size", "optim",
                                                         "bf16", "fp16"};
/// torch.optim has one of that name, which --optimizer means; --optim means transformers' own.
constexpr std::string_view kTrainersFlag = "optim";
constexpr Pair kTrainersAdafactor = {"adafactor", "adafactor-hf"};
constexpr std::array<Pair, 4> kPrecisions = {{
    {"bfloat16", "bf16"},
    {"float16", "fp16"},
    {"half", "fp16"},
    {"float32", "fp32"},
}};

constexpr std::array<std::string_view, 16> kSwitches = {
    "bucket-view",  "train",    "max-batch", "max-seq", "beyond-positions", "formulas", "strict",
    "verbose",      "advise",   "json",      "list",    "padded",           "unpadded", "again",
    "double-quant", "loss-only"};

/// Theirs that no byte on the GPU depends on, each with a value: schedules, rates, files, names.
constexpr std::array<std::string_view, 19> kWithoutMemory = {
    "learning-rate",    "lr-scheduler-type", "warmup-steps",  "warmup-ratio", "weight-decay",
    "num-train-epochs", "max-steps",         "adam-beta1",    "adam-beta2",   "adam-epsilon",
    "logging-steps",    "save-steps",        "save-strategy", "seed",         "output-dir",
    "report-to",        "run-name",          "lora-alpha",    "dataset-name"};

/// Flags whose values have other names, too.
constexpr std::array<std::string_view, 6> kRenamedValues = {
    "optimizer", "precision", "quant-compute", "attention", "seq", "generate"};

// Switches for what is not there yet.
constexpr std::array<std::string_view, 4> kQuantizationFlags = {"qlora", "bits", "quantization",
                                                                "quantization-config"};
constexpr std::array<std::string_view, 3> kSeveralGpus = {"deepspeed", "use-deepspeed",
                                                          "tensor-parallel-size"};
// The Trainer's --fsdp "full_shard auto_wrap", and what it says of each layer's wrapping.
constexpr std::string_view kTrainersFsdp = "fsdp";
constexpr std::string_view kUseFsdp = "use-fsdp";
constexpr std::string_view kLossOnly = "loss-only";
constexpr const char* kByAccelerate = "--strategy=fsdp-accelerate";

struct Argument {
  std::string flag;  ///< without dashes, '_' as '-'; empty where it is none
  std::optional<std::string> value;
};

Argument taken_apart(const std::string& text) {
  if (!text.starts_with("--") || text.size() < 3) return {"", text};
  const std::size_t equals = text.find('=');
  Argument argument{text.substr(2, equals == std::string::npos ? equals : equals - 2), {}};
  std::replace(argument.flag.begin(), argument.flag.end(), '_', '-');
  if (equals != std::string::npos) argument.value = text.substr(equals + 1);
  return argument;
}

template <std::size_t N>
std::string_view own_name(const std::array<Pair, N>& pairs, std::string_view theirs) {
  for (const auto& [name, own] : pairs) {
    if (name == theirs) return own;
  }
  return theirs;
}

/// As Python prints, and scripts pass on, what is true or false.
std::optional<bool> truth(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// "32k", as context lengths are called: 32768.
std::string tokens(const std::string& theirs) {
  constexpr std::size_t kDigits = 6;
  const std::size_t digits = theirs.find_first_not_of("0123456789");
  const bool thousands = digits != std::string::npos && digits > 0 && digits <= kDigits &&
                         (theirs.substr(digits) == "k" || theirs.substr(digits) == "K");
  return thousands ? std::to_string(1024 * std::stol(theirs.substr(0, digits))) : theirs;
}

/// What the value of a flag, typed as `typed`, is called here.
std::string own_value(const std::string& flag, const std::string& typed,
                      const std::string& theirs) {
  if (flag == "optimizer") {
    const bool trainers = typed == kTrainersFlag && theirs == kTrainersAdafactor.first;
    return std::string(trainers ? kTrainersAdafactor.second : own_name(kOptimizers, theirs));
  }
  if (flag == "precision" || flag == "quant-compute") {
    constexpr std::string_view kModule = "torch.";
    const bool qualified = theirs.starts_with(kModule);
    return std::string(own_name(kPrecisions, qualified ? theirs.substr(kModule.size()) : theirs));
  }
  if (flag == "lora-targets") {
    std::string list = theirs;  // "q_proj v_proj", as a list is typed; "q_proj, v_proj" stays
    if (list.find(',') == std::string::npos) std::replace(list.begin(), list.end(), ' ', ',');
    return list;
  }
  if (flag == "attention" && theirs.starts_with("flash_attention")) refuse_flash_attention(theirs);
  if (flag == "seq" || flag == "generate") return tokens(theirs);
  return theirs;
}

/// What a dictionary, as JSON or as Python prints it, says of use_reentrant: false where it is not
/// named, which is transformers' default.
bool enters_again(const std::string& flag, const std::string& arguments) {
  constexpr std::string_view kName = "use_reentrant";
  for (const char* other : {"every_n_layers", "offload"}) {
    if (arguments.find(other) == std::string::npos) continue;
    throw BadInput(flag + ": " + other + " is not predicted yet; nearest: " + std::string(kName));
  }
  const std::size_t name = arguments.find(kName);
  if (name == std::string::npos) return false;
  const std::size_t from = arguments.find_first_not_of("\"' :=", name + kName.size());
  const std::size_t end = arguments.find_first_of(" ,}", std::min(from, arguments.size()));
  const std::optional<bool> on =
      from == std::string::npos ? std::nullopt : truth(arguments.substr(from, end - from));
  if (!on) throw BadInput(flag + R"(: is no {"use_reentrant": true}, or false)");
  return *on;
}

class Translation {
 public:
  explicit Translation(std::vector<std::string> typed) : typed_(std::move(typed)) {
    while (at_ < typed_.size()) {
      const Argument argument = taken_apart(typed_[at_++]);
      if (argument.flag.empty()) {
        own_.push_back(*argument.value);
      } else {
        add(argument.flag, argument.value);
      }
    }
    complete_four_bits();
    if (reentrant_ && checkpointing_) own_[*checkpointing_] = "--checkpoint=reentrant";
  }
  /// BitsAndBytesConfig's defaults for load_in_4bit, where nothing else is said.
  void complete_four_bits() {
    if (!four_bits_) return;
    const auto add_missing = [this](const std::string& own, const char* value) {
      const bool given = std::any_of(own_.begin(), own_.end(), [&](const std::string& text) {
        return text == "--" + own || text.starts_with("--" + own + "=");
      });
      if (given) return;
      typed_as_[own] = kFourBits;
      own_.push_back("--" + own + "=" + value);
    };
    add_missing("quant", "fp4");
    add_missing("quant-compute", "fp32");
  }

  CommandLine own() && {
    return {std::move(own_), std::move(typed_as_), std::move(passed_over_),
            of_a_trainer_ && !says_loss_only_};
  }

 private:
  void add(const std::string& flag, const std::optional<std::string>& value) {
    of_a_trainer_ |= holds(kOfATrainer, flag);
    says_loss_only_ |= flag == kLossOnly;
    if (flag == kCheckpointing) {
      typed_as_["checkpoint"] = flag;
      if (!is_on(flag, value)) return;
      checkpointing_ = own_.size();
      own_.emplace_back("--checkpoint=full");
      return;
    }
    if (flag == kCheckpointingArguments) {
      const bool given = !value && at_ < typed_.size();
      reentrant_ = enters_again(flag, given ? typed_[at_++] : value.value_or(""));
      return;
    }
    if (holds(kWithoutMemory, flag)) return pass_over(flag, value.has_value());
    if (holds(kQuantizationFlags, flag)) {
      if (is_on(flag, value)) refuse_quantized_weights(flag);
      return;
    }
    if (flag == kEightBits) {
      typed_as_["quant"] = flag;
      if (is_on(flag, value)) own_.emplace_back("--quant=int8");
      return;
    }
    if (flag == kFourBits) {
      four_bits_ = is_on(flag, value);
      return;
    }
    if (holds(kSeveralGpus, flag)) refuse_several_gpus(flag);
    if (flag == kTrainersFsdp || flag == kUseFsdp) return shard(flag, value);
    if (flag == "bf16" || flag == "fp16") {
      if (!is_on(flag, value)) return;
      typed_as_["autocast"] = flag;
      own_.push_back("--autocast=" + flag);
      return;
    }
    const std::string own = std::string(own_name(kFlags, flag));
    if (own != flag) typed_as_[own] = flag;
    const bool is_switch = holds(kSwitches, own);
    if (const auto truth_value = is_switch ? given_truth(value) : std::nullopt) {
      const std::optional<bool> on = truth(*truth_value);
      if (!on)
        throw BadInput(own + ": is a switch, and '" + *truth_value +
                       "' no value of it; without it");
      if (*on) own_.push_back("--" + own);
      return;
    }
    if (own == "lora-targets" && !value) return add_list(own);
    own_.push_back("--" + own + (value ? "=" + own_value(own, flag, *value) : ""));
    const bool takes_one = holds(kRenamedValues, own);
    const bool given = at_ < typed_.size() && !typed_[at_].starts_with("--");
    if (takes_one && !value && given) own_.push_back(own_value(own, flag, typed_[at_++]));
  }

  void pass_over(const std::string& flag, bool with_value) {
    passed_over_.push_back(flag);
    if (with_value) return;
    if (at_ == typed_.size() || typed_[at_].starts_with("--")) {
      throw BadInput(flag + ": no value after it; memory does not depend on it: without it");
    }
    ++at_;
  }

  /// What is sharded: all (full_shard), or gradients and states (shard_grad_op), which leaves a
  /// layer gathered after forward.
  void shard(const std::string& flag, const std::optional<std::string>& value) {
    typed_as_["strategy"] = flag;
    if (flag == kUseFsdp) {
      if (is_on(flag, value)) own_.emplace_back(kByAccelerate);
      return;
    }
    const bool given = !value && at_ < typed_.size() && !typed_[at_].starts_with("--");
    const std::string what = given ? typed_[at_++] : value.value_or("full_shard");
    const bool states = what.starts_with("shard_grad_op");
    if (!states && !what.starts_with("full_shard")) {
      throw BadInput(flag + ": '" + what + "' is not predicted yet; full_shard or shard_grad_op");
    }
    own_.emplace_back(kByAccelerate);
    if (states) own_.emplace_back("--reshard-after-forward=false");
  }

  /// "q_proj v_proj", as argparse takes a list, is "q_proj,v_proj".
  void add_list(const std::string& flag) {
    own_.push_back("--" + flag);
    std::string list;
    for (; at_ < typed_.size() && !typed_[at_].starts_with("-"); ++at_) {
      list += (list.empty() ? "" : ",") + own_value(flag, flag, typed_[at_]);
    }
    if (!list.empty()) own_.push_back(list);
  }

  /// What stands after a switch's "=", or as the next word where that is a truth value.
  std::optional<std::string> given_truth(const std::optional<std::string>& value) {
    if (value || at_ == typed_.size() || !truth(typed_[at_])) return value;
    return typed_[at_++];
  }

  /// Of a switch: by itself, or with a truth value. Of one that takes a setting, too, that is on.
  bool is_on(const std::string& flag, const std::optional<std::string>& given) {
    const std::optional<std::string> value = given_truth(given);
    const std::optional<bool> on = value ? truth(*value) : true;
    if (on || holds(kQuantizationFlags, flag)) return on.value_or(true);
    throw BadInput(flag + ": is '" + *value + "'; true, false or nothing");
  }

  std::vector<std::string> typed_;
  std::size_t at_ = 0;
  std::vector<std::string> own_;
  std::map<std::string, std::string> typed_as_;
  std::vector<std::string> passed_over_;
  bool four_bits_ = false;
  bool reentrant_ = false;
  bool of_a_trainer_ = false;
  bool says_loss_only_ = false;
  std::optional<std::size_t> checkpointing_;  ///< where in own_ theirs is
};

}  // namespace

CommandLine in_own_names(const std::vector<std::string>& typed) { return Translation(typed).own(); }

std::string own_flag(std::string theirs) {
  std::replace(theirs.begin(), theirs.end(), '_', '-');
  if (theirs == kCheckpointing) return "checkpoint";
  if (theirs == kEightBits || theirs == kFourBits) return "quant";
  if (theirs == kTrainersFsdp || theirs == kUseFsdp) return "strategy";
  if (theirs == "bf16" || theirs == "fp16") return "autocast";
  return std::string(own_name(kFlags, theirs));
}

std::string as_typed(const std::string& message, const std::map<std::string, std::string>& typed) {
  for (const auto& [own, theirs] : typed) {
    for (const std::string dashes : {"", "--"}) {
      const std::string name = dashes + own;
      if (message.starts_with(name + ":")) return dashes + theirs + message.substr(name.size());
    }
  }
  return message;
}

std::string other_names() {
  std::string text;
  for (const auto& [theirs, own] : kFlags) {
    text += "  --" + std::string(theirs) + std::string(32 - theirs.size(), ' ') + "--" +
            std::string(own) + "\n";
  }
  return text + "  --" + std::string(kCheckpointing) +
         std::string(32 - kCheckpointing.size(), ' ') +
         "--checkpoint full, or reentrant as --gradient-checkpointing-kwargs says\n  --" +
         std::string(kEightBits) + std::string(32 - kEightBits.size(), ' ') + "--quant int8\n  --" +
         std::string(kFourBits) + std::string(32 - kFourBits.size(), ' ') +
         "--quant fp4 --quant-compute fp32\n" +
         "  --bf16                            --autocast bf16 --loss-only\n"
         "  --fp16                            --autocast fp16 --loss-only\n"
         "and passed over, as memory does not depend on them: --learning-rate, --lora-alpha, ...\n";
}

}  // namespace vramfit
