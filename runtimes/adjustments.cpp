#include "runtimes/adjustments.h"

#include <algorithm>
#include <utility>

namespace vramfit {
namespace {

/// Sizes that an adjustment offers, about.
constexpr std::int64_t kSizes = 64;
constexpr std::int64_t kLeastTokens = 16;
constexpr std::int64_t kShortest = 8;  ///< of a sequence, an eighth
/// A micro-batch of so many tokens was timed: data/slowdowns.json.
constexpr std::int64_t kTimedTokens = 2048;
constexpr std::int64_t kMostGpus = 64;  ///< that are advised

/// As data/slowdowns.json names it.
std::string spread(const char* strategy, std::int64_t gpus) {
  return gpus == 1 ? "1" : std::string(strategy) + " " + std::to_string(gpus);
}

Choice on_gpus(const std::string& label, const char* strategy, std::int64_t gpus, Launch launch,
               std::int64_t now = 1) {
  const std::string count = std::to_string(gpus);
  Choice choice{label + " over " + count + " GPUs",
                {{"gpus", spread(strategy, now), spread(strategy, gpus)}},
                {{"gpus", count}, {"strategy", strategy}},
                {},
                {}};
  if (launch != nullptr) choice.launch = launch(gpus);
  return choice;
}

double part_of(std::int64_t whole, std::int64_t size) {
  return static_cast<double>(size) / static_cast<double>(whole);
}

}  // namespace

Choice lora_choice(bool all_linear) {
  const std::string rank = kUsualRank;
  Choice choice{"LoRA of rank " + rank, {{"lora", "none", rank}}, {{"lora", rank}}, {}, {}};
  if (all_linear) choice.flags["lora-targets"] = "all-linear";
  return choice;
}

Adjustment adjustment_of(const char* part, Choice choice) {
  return {.parts = {part}, .choices = {std::move(choice)}};
}

Adjustment gpus_adjustment(const char* label, const char* strategy, Launch launch,
                           const std::vector<CallArgument>& script, std::int64_t now) {
  Adjustment adjustment{.parts = {label}, .choices = {}};
  for (std::int64_t gpus = 2; gpus <= kMostGpus; gpus *= 2) {
    if (gpus <= now) continue;
    adjustment.choices.push_back(on_gpus(label, strategy, gpus, launch, now));
    adjustment.choices.back().script = script;
  }
  return adjustment;
}

Adjustment shared_batch_adjustment(std::int64_t batch, Launch launch) {
  Adjustment adjustment{.parts = {"DDP"}, .choices = {}};
  for (std::int64_t gpus = 2; gpus <= std::min(batch, kMostGpus); ++gpus) {
    if (batch % gpus != 0) continue;
    Choice choice = on_gpus("the batch by DDP", "ddp", gpus, launch);
    const std::string each = std::to_string(batch / gpus);
    choice.label += ", " + each + (each == "1" ? " sequence on each" : " sequences on each");
    choice.flags["batch"] = each;
    adjustment.choices.push_back(std::move(choice));
  }
  return adjustment;
}

Adjustment micro_batch_adjustment(std::int64_t batch, std::int64_t seq, std::int64_t accumulate) {
  Adjustment adjustment{.parts = {"micro-batch"}, .choices = {}, .of_sizes = true};
  for (std::int64_t size = batch / 2; size >= 1; --size) {
    if (batch % size != 0) continue;
    const std::int64_t micro_batches = accumulate * (batch / size);
    const bool timed = size * seq >= kTimedTokens;
    adjustment.choices.push_back(
        {.label = "micro-batches of " + std::to_string(size),
         .changes = {{"micro-batch", "whole", timed ? "2048 tokens or more" : "fewer tokens"}},
         .flags = {{"batch", std::to_string(size)}, {"accumulate", std::to_string(micro_batches)}},
         .without = {},
         .script = {}});
  }
  return adjustment;
}

Adjustment batch_adjustment(std::int64_t batch) {
  Adjustment adjustment{.parts = {"batch"}, .choices = {}, .of_sizes = true};
  const std::int64_t step = std::max<std::int64_t>(batch / kSizes, 1);
  for (std::int64_t size = batch - step; size > 0; size -= step) {
    // The last is 1, whatever the step.
    const std::int64_t sequences = size <= step ? 1 : size;
    adjustment.choices.push_back({.label = "batch " + std::to_string(sequences),
                                  .changes = {{"batch", "whole", "smaller"}},
                                  .flags = {{"batch", std::to_string(sequences)}},
                                  .without = {},
                                  .script = {},
                                  .keeps = part_of(batch, sequences)});
  }
  return adjustment;
}

Adjustment sequence_adjustment(std::int64_t seq) {
  Adjustment adjustment{.parts = {"sequence"}, .choices = {}, .of_sizes = true};
  const std::int64_t step = (seq / kSizes / kLeastTokens + 1) * kLeastTokens;
  for (std::int64_t size = (seq - 1) / step * step; size >= std::max(seq / kShortest, step);
       size -= step) {
    adjustment.choices.push_back({.label = "sequences of " + std::to_string(size) + " tokens",
                                  .changes = {{"sequence", "whole", "shorter"}},
                                  .flags = {{"seq", std::to_string(size)}},
                                  .without = {},
                                  .script = {},
                                  .keeps = part_of(seq, size)});
  }
  return adjustment;
}

}  // namespace vramfit
