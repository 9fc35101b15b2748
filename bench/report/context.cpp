#include "bench/report/context.h"

#include "estimator/version.h"

namespace vramfit::bench {
namespace {

/// Rises when a counter's name or meaning changes.
constexpr const char* kSchemaVersion = "1";

/// What measured cards tell and the others have none of.
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

}  // namespace

std::map<std::string, std::string> context_of(const Target& target) {
  std::map<std::string, std::string> context = {
      {"schema_version", kSchemaVersion},
      {"commit", kCommit},
      {"device", target.name()},
      {"evidence", target.device() ? "measured" : "predicted"},
  };
  if (target.device() != nullptr) context.merge(target.device()->facts());
  if (!target.cards().empty()) context.emplace("overhead", overheads(target));
  for (const char* fact : kCardFacts) context.emplace(fact, "none");
  return context;
}

}  // namespace vramfit::bench
