#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtimes/flags.h"

// What could be changed about a run so that it takes less: flags of `fit` that say so, and the
// arguments of the libraries whose run it is.
namespace vramfit {

/// From one setting to another, by the names that data/slowdowns.json has.
struct SettingChange {
  std::string kind;  ///< "optimizer"
  std::string from;
  std::string to;
};

/// An argument of a call in a user's script: "TrainingArguments", "gradient_checkpointing=True".
struct CallArgument {
  std::string call;
  std::string argument;
};

struct Choice {
  std::string label;                        ///< "8-bit AdamW"
  std::vector<SettingChange> changes = {};  ///< what it changes, one of each kind
  Flags flags = {};                         ///< those that it sets
  std::vector<std::string> without = {};    ///< those that it goes without
  std::vector<CallArgument> script = {};    ///< the same in a script; empty: nobody's libraries
  std::string launch = {};  ///< a command line that starts it on its GPUs, where one does
  double keeps = 1;         ///< of what is run, the part that is left of it
};

/// What can be changed by itself: choices that exclude each other, the mildest first. In none
/// do tensors take less than in the last.
struct Adjustment {
  /// What it is made of. Of two adjustments that are enough, one with all that the other is made
  /// of, and more, is of no use.
  std::vector<std::string> parts;
  std::vector<Choice> choices;
  bool of_sizes = false;  ///< choices are one size after the other
};

/// LoRA of the usual rank, on what PEFT adapts by itself, or where it does not say, every
/// projection.
Choice lora_choice(bool all_linear);
inline constexpr const char* kUsualRank = "16";

/// Of one choice.
Adjustment adjustment_of(const char* part, Choice choice);

/// How a script is started on so many GPUs.
using Launch = std::string (*)(std::int64_t gpus);
/// Over GPUs of the card's kind by a strategy, twice as many each time, each with a batch of its
/// own: more than `now`. No `launch`: there is nothing to say.
Adjustment gpus_adjustment(const char* label, const char* strategy, Launch launch,
                           const std::vector<CallArgument>& script, std::int64_t now = 1);
/// The same by --strategy ddp, where GPUs share the batch that one has.
Adjustment shared_batch_adjustment(std::int64_t batch, Launch launch);

/// The same sequences in smaller micro-batches, and as many more of these in a step.
Adjustment micro_batch_adjustment(std::int64_t batch, std::int64_t seq, std::int64_t accumulate);
/// Fewer sequences at once, down to one.
Adjustment batch_adjustment(std::int64_t batch);
/// Down to an eighth of the length: what is shorter is another task.
Adjustment sequence_adjustment(std::int64_t seq);

}  // namespace vramfit
