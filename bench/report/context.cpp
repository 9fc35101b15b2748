#include "bench/report/context.h"

#include "bench/families/pytorch.h"
#include "bench/rows/axes.h"
#include "estimator/version.h"

namespace vramfit::bench {
namespace {

/// Rises when a counter's name or meaning changes.
constexpr const char* kSchemaVersion = "1";

/// Facts that only measured cards have; "none" elsewhere.
constexpr const char* kCardFacts[] = {
    "gpu", "driver", "cuda", "cublas", "cudnn", "nccl", "cuda_module_loading"};

std::string overheads(const Target& target) {
  std::string text;
  for (const Card* card : target.cards()) {
    text += (text.empty() ? "" : "; ") + card->name + ": " + card->overhead.source + " (" +
            std::to_string(card->overhead.total()) + " bytes)";
  }
  return text;
}

/// The parts of a row's name after its family, in order: those that stand alone, then those with a
/// key, "batch:".
std::string axes_of_names() {
  std::string text;
  for (const AxisInfo& axis : axes()) {
    const std::string key = axis.key;
    text += (text.empty() ? "" : " ") + (key.empty() ? axis.flag : key + ":");
  }
  return text;
}

/// Which of PyTorch's optimizers a row's `pytorch_` counters are of, by the row's optimizer.
std::string pytorch_optimizers() {
  std::string text;
  for (const OptimizerKind& ours : optimizer_kinds()) {
    if (!has_counterpart(ours)) continue;
    TrainingOptions options;
    options.optimizer = ours;
    const pytorch::TorchTraining theirs = in_pytorch(options);
    text += (text.empty() ? "" : ", ") + std::string(ours.name) + ": " +
            pytorch::name(theirs.optimizer) + (theirs.autocast ? " under autocast" : "");
  }
  return text;
}

}  // namespace

std::map<std::string, std::string> context_of(const Target& target) {
  std::map<std::string, std::string> context = {
      {"schema_version", kSchemaVersion}, {"commit", kCommit},
      {"device", target.name()},          {"evidence", target.device() ? "measured" : "predicted"},
      {"axes", axes_of_names()},          {"pytorch_optimizers", pytorch_optimizers()},
  };
  if (target.device() != nullptr) context.merge(target.device()->facts());
  if (!target.cards().empty()) context.emplace("overhead", overheads(target));
  for (const char* fact : kCardFacts) context.emplace(fact, "none");
  return context;
}

}  // namespace vramfit::bench
