#include "estimator/fit/spellings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "estimator/fit/not_yet.h"
#include "model/errors.h"

namespace vramfit::fit {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

/// transformers' TrainingArguments and from_pretrained, PEFT's LoraConfig: theirs, and fit's own.
constexpr std::array<Pair, 7> kFlags = {{
    {"per-device-train-batch-size", "batch"},
    {"gradient-accumulation-steps", "accumulate"},
    {"max-new-tokens", "generate"},
    {"attn-implementation", "attention"},
    {"optim", "optimizer"},
    {"lora-r", "lora"},
    {"lora-target-modules", "lora-targets"},
}};
constexpr std::string_view kCheckpointing = "gradient-checkpointing";

/// Values of --optim.
constexpr std::array<Pair, 2> kOptimizers = {{
    {"adamw_torch", "adamw"},
    {"adamw_torch_fused", "adamw-fused"},
}};

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

std::string optimizer_named(const std::string& theirs) {
  if (theirs.find("8bit") != std::string::npos) refuse_eight_bit_states(theirs);
  return std::string(own_name(kOptimizers, theirs));
}

class Translation {
 public:
  Translation(int argc, const char* const* argv) : typed_(argv + std::min(argc, 1), argv + argc) {
    while (at_ < typed_.size()) {
      const Argument argument = taken_apart(typed_[at_++]);
      if (argument.flag.empty()) {
        own_.push_back(*argument.value);
      } else {
        add(argument.flag, argument.value);
      }
    }
  }
  std::vector<std::string> own() && { return std::move(own_); }

 private:
  void add(const std::string& flag, const std::optional<std::string>& value) {
    if (flag == kCheckpointing) return add_checkpointing(value);
    if (flag == "load-in-4bit" || flag == "load-in-8bit") refuse_quantized_weights(flag);
    const std::string own = std::string(own_name(kFlags, flag));
    if (own == "optimizer") {
      add_with_value(own, value, optimizer_named);
    } else if (own == "lora-targets" && !value) {
      add_list(own);
    } else {
      own_.push_back("--" + own + (value ? "=" + *value : ""));
    }
  }

  template <typename Meaning>
  void add_with_value(const std::string& flag, const std::optional<std::string>& value,
                      const Meaning& meaning) {
    own_.push_back("--" + flag + (value ? "=" + meaning(*value) : ""));
    if (!value && at_ < typed_.size()) own_.push_back(meaning(typed_[at_++]));
  }

  /// "q_proj v_proj", as argparse takes a list, is "q_proj,v_proj".
  void add_list(const std::string& flag) {
    own_.push_back("--" + flag);
    std::string list;
    for (; at_ < typed_.size() && !typed_[at_].starts_with("-"); ++at_) {
      list += (list.empty() ? "" : ",") + typed_[at_];
    }
    if (!list.empty()) own_.push_back(list);
  }

  /// A flag by itself, or with a truth value.
  void add_checkpointing(std::optional<std::string> value) {
    if (!value && at_ < typed_.size() && truth(typed_[at_])) value = typed_[at_++];
    const std::optional<bool> on = value ? truth(*value) : true;
    if (!on) {
      throw BadInput(std::string(kCheckpointing) + ": is '" + *value + "'; true, false or nothing");
    }
    if (*on) own_.emplace_back("--checkpoint=full");
  }

  std::vector<std::string> typed_;
  std::size_t at_ = 0;
  std::vector<std::string> own_;
};

}  // namespace

std::vector<std::string> in_own_names(int argc, const char* const* argv) {
  return Translation(argc, argv).own();
}

std::string other_names() {
  std::string text;
  for (const auto& [theirs, own] : kFlags) {
    text += "  --" + std::string(theirs) + std::string(32 - theirs.size(), ' ') + "--" +
            std::string(own) + "\n";
  }
  return text + "  --" + std::string(kCheckpointing) +
         std::string(32 - kCheckpointing.size(), ' ') + "--checkpoint full\n";
}

}  // namespace vramfit::fit
