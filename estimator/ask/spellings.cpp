#include "estimator/ask/spellings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "estimator/ask/foreign.h"
#include "estimator/ask/hub_file.h"
#include "estimator/ask/known_setting.h"
#include "estimator/runtimes.h"
#include "model/errors.h"
#include "runtimes/foreign_words.h"

namespace vramfit {
namespace {

constexpr std::string_view kModelOrPath = "model-name-or-path";
// What says more than a setting's name does.
constexpr std::string_view kFourBits = "load-in-4bit";
constexpr std::string_view kCheckpointing = "gradient-checkpointing";
constexpr std::string_view kCheckpointingArguments = "gradient-checkpointing-kwargs";
/// The Trainer's --fsdp "full_shard auto_wrap", and what it says of each layer's wrapping.
constexpr std::string_view kTrainersFsdp = "fsdp";
constexpr const char* kByAccelerate = "--strategy=fsdp-accelerate";
constexpr std::string_view kLossOnly = "loss-only";

struct Argument {
  std::string flag;  ///< without dashes, '_' as '-'; empty where it is none
  std::optional<std::string> value;
};

Argument split_flag(const std::string& text) {
  if (!text.starts_with("--") || text.size() < 3) return {"", text};
  const std::size_t equals = text.find('=');
  Argument argument{text.substr(2, equals == std::string::npos ? equals : equals - 2), {}};
  std::replace(argument.flag.begin(), argument.flag.end(), '_', '-');
  if (equals != std::string::npos) argument.value = text.substr(equals + 1);
  return argument;
}

/// As Python prints, and scripts pass on, what is true or false.
std::optional<bool> truth(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

template <typename Names>
bool holds(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What a dictionary, as JSON or as Python prints it, says of use_reentrant: false where it is not
/// named, which is transformers' default.
bool uses_reentrant(const std::string& flag, const std::string& arguments) {
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

/// The one that is asked about; where it is none, that is refused later.
const Runtime& runtime_of(const std::vector<std::string>& typed) {
  std::string name;
  for (std::size_t i = 0; i < typed.size(); ++i) {
    const Argument argument = split_flag(typed[i]);
    if (argument.flag != "runtime") continue;
    name = argument.value.value_or(i + 1 < typed.size() ? typed[i + 1] : "");
  }
  for (const Runtime* runtime : runtimes()) {
    if (name == runtime->name()) return *runtime;
  }
  return default_runtime();
}

class Translation {
 public:
  Translation(std::vector<std::string> typed, const Runtime& runtime)
      : typed_(std::move(typed)), runtime_(runtime) {
    while (at_ < typed_.size()) {
      const std::string& text = typed_[at_++];
      const Argument argument = split_flag(text);
      if (const Known alias = by_one_dash(text); alias.setting != nullptr) {
        add_by_one_dash(alias, text);
      } else if (const ForeignWord* word = foreign_by_one_dash(text); word != nullptr) {
        take_foreign(*word, text, std::nullopt);
      } else if (argument.flag.empty()) {
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
    return {std::move(own_), std::move(typed_as_), std::move(passed_over_), std::move(notes_),
            of_a_trainer_ && !says_loss_only_};
  }

 private:
  void add(const std::string& flag, const std::optional<std::string>& value) {
    says_loss_only_ |= flag == kLossOnly;
    if (flag == kCheckpointingArguments) {
      const bool given = !value && at_ < typed_.size();
      reentrant_ = uses_reentrant(flag, given ? typed_[at_++] : value.value_or(""));
    } else if (flag == kFourBits) {
      four_bits_ = is_on(flag, value);
    } else if (flag == kTrainersFsdp) {
      shard(flag, value);
    } else if (const ForeignWord* its = its_foreign_word(flag, value); its != nullptr) {
      take_foreign(*its, "--" + flag, value);
    } else if (const Known alias = known(runtime_, flag); alias.setting != nullptr) {
      add(alias, flag, value);
    } else if (holds(own_switches(), flag)) {
      add_switch(flag, value);
    } else if (const ForeignWord* word = foreign_word(runtime_, flag, next_or(value));
               word != nullptr) {
      take_foreign(*word, "--" + flag, value);
    } else if (flag == "model" && next_or(value).ends_with(".gguf")) {
      typed_as_["gguf"] = flag;
      own_.push_back("--gguf" + (value ? "=" + *value : ""));
    } else {
      const std::string own = canonical_flag(flag);
      if (own != flag) typed_as_[own] = flag;
      own_.push_back("--" + own + (value ? "=" + *value : ""));
    }
  }

  void add(const Known& alias, const std::string& flag, const std::optional<std::string>& value) {
    const Setting& setting = *alias.setting;
    const std::string own = setting.name;
    if (alias.spelling != nullptr) {
      of_a_trainer_ |= alias.spelling->of_a_trainer;
      const char* sets = alias.spelling->sets;
      if (sets != nullptr && !is_on(flag, value)) return;
      typed_as_[own] = flag;
      if (flag == kCheckpointing) checkpointing_ = own_.size();
      if (sets != nullptr) return own_.push_back("--" + own + "=" + sets);
    }
    if (setting.takes == Setting::Takes::Nothing) return add_switch(own, value);
    if (setting.takes == Setting::Takes::List && !value) return add_list(setting);
    if (!value && stands_alone(setting, flag)) {
      return own_.push_back("--" + own + "=" + setting.bare);
    }
    own_.push_back("--" + own + (value ? "=" + canonical_value(setting, flag, *value) : ""));
    const bool given = at_ < typed_.size() && !typed_[at_].starts_with("--");
    if (!value && given && has_spelt_values(setting)) {
      own_.push_back(canonical_value(setting, flag, typed_[at_++]));
    }
  }

  /// "-ngl", where it is one of the runtime's own words.
  Known by_one_dash(const std::string& text) const {
    const bool one = text.size() > 1 && text[0] == '-' && text[1] != '-';
    return one ? known(runtime_.settings(), text.substr(1)) : Known{};
  }

  /// Whether no value of it follows, where it needs none.
  bool stands_alone(const Setting& setting, const std::string& flag) const {
    if (setting.bare == nullptr) return false;
    if (at_ == typed_.size()) return true;
    const std::string value = canonical_value(setting, flag, typed_[at_]);  // "-1" is one
    return typed_[at_].starts_with("-") && !holds(setting.choices, value);
  }

  void add_by_one_dash(const Known& alias, const std::string& text) {
    const std::string own = alias.setting->name;
    typed_as_[own] = text.substr(1);
    if (alias.setting->takes == Setting::Takes::Nothing) return own_.push_back("--" + own);
    if (stands_alone(*alias.setting, own)) {
      return own_.push_back("--" + own + "=" + alias.setting->bare);
    }
    const bool given = at_ < typed_.size();
    own_.push_back("--" + own +
                   (given ? "=" + canonical_value(*alias.setting, own, typed_[at_++]) : ""));
  }

  /// Of the runtime that is asked about, whatever others call a setting so: llama.cpp's --lora.
  const ForeignWord* its_foreign_word(const std::string& flag,
                                      const std::optional<std::string>& value) const {
    if (known(runtime_.settings(), flag).setting != nullptr) return nullptr;
    return foreign_word_of(runtime_, flag, next_or(value));
  }

  const ForeignWord* foreign_by_one_dash(const std::string& text) const {
    return foreign_word_by_one_dash(runtime_, text, next_or(std::nullopt));
  }

  /// What was given, or the next word.
  std::string next_or(const std::optional<std::string>& value) const {
    return value ? *value : at_ < typed_.size() ? typed_[at_] : std::string();
  }

  void add_switch(const std::string& own, const std::optional<std::string>& value) {
    const std::optional<std::string> truth_value = given_truth(value);
    const std::optional<bool> on = truth_value ? truth(*truth_value) : true;
    if (!on) {
      throw BadInput(own + ": is a switch, and '" + *truth_value + "' no value of it; without it");
    }
    if (*on) own_.push_back("--" + own);
  }

  void take_foreign(const ForeignWord& word, const std::string& typed,
                    const std::optional<std::string>& given) {
    const std::string flag = typed.substr(typed.find_first_not_of('-'));
    const std::string value = foreign_value(word, flag, given);
    const bool asks = value != word.harmless && truth(value).value_or(true);
    if (word.use == ForeignWord::Use::PassedOver) {
      passed_over_.push_back(typed);
    } else if (word.use == ForeignWord::Use::Means) {
      add_meant(word, typed, flag, value);
    } else if (word.use == ForeignWord::Use::Usual) {
      if (!asks) throw BadInput(flag + ": is '" + value + "'; without a value");
    } else if (asks && word.use == ForeignWord::Use::Refused) {
      throw BadInput(flag + ": " + word.what);
    } else if (asks) {
      notes_.push_back(typed + ": " + word.what);
    }
  }

  void add_meant(const ForeignWord& word, const std::string& typed, const std::string& flag,
                 const std::string& value) {
    typed_as_[word.what] = flag;
    if (!word.only.empty()) return own_.push_back(std::string("--") + word.what);
    if (std::string_view(word.what) != "model") {
      return own_.push_back(std::string("--") + word.what + "=" + value);
    }
    const HubFile file = hub_file(value);
    if (file.model.empty()) {
      throw BadInput(flag + ": '" + value + "' names no repository; unsloth/Qwen3-8B-GGUF:Q4_K_M");
    }
    own_.push_back("--model=" + file.model);
    if (!file.quant.empty()) own_.push_back("--quant=" + file.quant);
    if (!file.quant.empty()) typed_as_["quant"] = flag;
    notes_.push_back(typed + " " + value + ": as llama-quantize makes it of the config of " +
                     file.model + ", without importance matrix; a file there may differ");
  }

  /// What stands behind it; of a switch without, "true". A refused one may stand without.
  std::string foreign_value(const ForeignWord& word, const std::string& flag,
                            const std::optional<std::string>& given) {
    if (word.takes == ForeignWord::Takes::Truth) return given_truth(given).value_or("true");
    if (given) return *given;
    const bool follows = at_ < typed_.size() && !typed_[at_].starts_with("--");
    if (follows) return typed_[at_++];
    if (word.use == ForeignWord::Use::Refused) return "true";
    throw BadInput(flag + ": no value after it" +
                   (word.use == ForeignWord::Use::PassedOver
                        ? "; memory does not depend on it: without it"
                        : ""));
  }

  /// What is sharded: all (full_shard), or gradients and states (shard_grad_op), which leaves a
  /// layer gathered after forward.
  void shard(const std::string& flag, const std::optional<std::string>& value) {
    typed_as_["strategy"] = flag;
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
  void add_list(const Setting& setting) {
    own_.push_back(std::string("--") + setting.name);
    std::string list;
    for (; at_ < typed_.size() && !typed_[at_].starts_with("-"); ++at_) {
      list += (list.empty() ? "" : ",") + canonical_value(setting, setting.name, typed_[at_]);
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
    if (on) return *on;
    throw BadInput(flag + ": is '" + *value + "'; true, false or nothing");
  }

  std::vector<std::string> typed_;
  const Runtime& runtime_;
  std::size_t at_ = 0;
  std::vector<std::string> own_;
  std::map<std::string, std::string> typed_as_;
  std::vector<std::string> passed_over_;
  std::vector<std::string> notes_;
  bool four_bits_ = false;
  bool reentrant_ = false;
  bool of_a_trainer_ = false;
  bool says_loss_only_ = false;
  std::optional<std::size_t> checkpointing_;  ///< where in own_ it is
};

}  // namespace

CommandLine in_canonical_names(const std::vector<std::string>& typed) {
  return in_canonical_names(typed, runtime_of(typed));
}

CommandLine in_canonical_names(const std::vector<std::string>& typed, const Runtime& runtime) {
  return Translation(typed, runtime).own();
}

std::string canonical_flag(std::string alias) {
  std::replace(alias.begin(), alias.end(), '_', '-');
  if (alias == kModelOrPath) return "model";
  const Setting* setting = known(default_runtime(), alias).setting;
  return setting == nullptr ? alias : setting->name;
}

std::string as_typed(const std::string& message, const std::map<std::string, std::string>& typed) {
  for (const auto& [own, alias] : typed) {
    for (const std::string dashes : {"", "--"}) {
      const std::string name = dashes + own;
      if (message.starts_with(name + ":")) return dashes + alias + message.substr(name.size());
    }
  }
  return message;
}

const std::vector<std::string>& own_switches() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list = {"train",   "beyond-positions", "formulas", "strict",
                                     "verbose", "advise",           "json",     "list",
                                     "man"};
    for (const SearchAxis& axis : all_axes()) list.push_back("max-" + std::string(axis.name));
    return list;
  }();
  return names;
}

std::string other_names() {
  constexpr std::size_t kColumn = 32;
  std::string text;
  const auto add = [&](std::string_view alias, const std::string& own) {
    text += "  --" + std::string(alias) + std::string(kColumn - alias.size(), ' ') + own + "\n";
  };
  add(kModelOrPath, "--model");
  for (const Runtime* runtime : runtimes()) {
    for (const Setting& setting : runtime->settings()) {
      for (const Spelling& alias : setting.spellings) {
        std::string own = std::string("--") + setting.name;
        if (alias.sets != nullptr) own += std::string(" ") + alias.sets;
        if (alias.sets != nullptr && alias.of_a_trainer) own += " --loss-only";
        if (alias.name == kFourBits) own += " --quant-compute fp32";
        if (alias.name == kCheckpointing) {
          own += ", or reentrant as --" + std::string(kCheckpointingArguments) + " says";
        }
        add(alias.name, own);
      }
    }
  }
  return text +
         "and passed over, as memory does not depend on them: --learning-rate, --lora-alpha, ...\n";
}

}  // namespace vramfit
