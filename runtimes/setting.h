#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtimes/flags.h"

// What a run can be told. All that is to be known of a setting beside what it does stands in one
// row of its runtime: the command line, help, other spellings, the page and Python read it there.
namespace vramfit {

/// What scripts call a setting.
struct Spelling {
  const char* name;  ///< "per-device-train-batch-size"
  const char* sets =
      nullptr;                ///< where the alias is a switch, what it sets: "int8" of load-in-8bit
  bool of_a_trainer = false;  ///< only a Trainer has it
};

/// A value as forms offer it.
struct Offer {
  std::string value;  ///< empty: what is taken where none is given
  std::string title;  ///< "AdamW, 8-bit"
};

/// Beside what it makes sense, and as a message says that: "--quant nf4 or fp4".
struct Needs {
  const char* what;
  bool (*met)(const Flags& flags);
};

struct Setting {
  enum class With : std::uint8_t { Either, Training, Inference };
  /// Truth: true or false, where both may be said; Nothing: a switch.
  enum class Takes : std::uint8_t { Text, Number, List, Truth, Nothing };

  const char* name;  ///< its flag: "optimizer"
  With with = With::Either;
  std::string help = {};
  Takes takes = Takes::Text;
  const Needs* needs = nullptr;
  std::vector<std::string> choices = {};  ///< where these are all it takes
  std::vector<Spelling> spellings = {};
  /// What a value is called here that scripts may spell otherwise; `flag` is what they call it.
  std::string (*canonical_value)(std::string_view flag, const std::string& alias) = nullptr;
  std::vector<Offer> offers = {};  ///< where a form has them in words
  const char* bare =
      nullptr;  ///< what it is set to where no value of it follows; null: it needs one
  /// Settings that it says in another measure: not beside these.
  std::vector<const char*> instead_of = {};
};

using Settings = std::vector<Setting>;

/// The one of that name; null where there is none.
const Setting* find(const Settings& settings, std::string_view name);

/// What a model is stored in whose config says so: all types of more than 8 bits.
std::vector<Offer> plain_precision_offers();

/// These, `usual` first and without a value: it is what is taken where none is given.
std::vector<Offer> with_default(std::vector<Offer> offers, std::string_view usual);

/// Whether it was set for another task, or without what it needs.
bool is_astray(const Setting& setting, const Flags& flags, bool training);

/// The name of what was typed instead of it, in another measure; null where nothing was.
const char* said_instead(const Settings& settings, const Flags& flags, std::string_view name);

/// Throws BadInput on a value that is no choice, on what lacks what it needs, and on what says once
/// more what another does.
void require_sense(const Settings& settings, const Flags& flags);

/// "fp32, fp16 or bf16"
std::string one_of(const std::vector<std::string>& names);
/// "--max-batch and --max-seq"
std::string all_of(const std::vector<std::string>& names);

}  // namespace vramfit
