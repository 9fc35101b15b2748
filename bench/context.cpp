#include "bench/context.h"

#include <benchmark/benchmark.h>

#include <map>

#include "bench/commit.h"

namespace vramfit::bench {
namespace {

/// Rises when a counter's name or meaning changes.
constexpr const char* kSchemaVersion = "1";

/// What measured cards tell and the others have none of.
constexpr const char* kCardFacts[] = {
    "gpu", "driver", "cuda", "cublas", "cudnn", "nccl", "cuda_module_loading"};

std::string overheads(const Target& target) {
  std::string text;
  for (const Card* card : target.cards) {
    text += (text.empty() ? "" : "; ") + card->name + ": " + card->overhead.source;
  }
  return text;
}

}  // namespace

void add_context(const Target& target) {
  std::map<std::string, std::string> context = {
      {"schema_version", kSchemaVersion},
      {"commit", kCommit},
      {"device", target.name()},
      {"evidence", target.device ? "measured" : "predicted"},
  };
  if (target.device) {
    context.merge(target.device->facts());
  } else {
    context.emplace("overhead", overheads(target));
  }
  for (const char* fact : kCardFacts) context.emplace(fact, "none");
  for (const auto& [key, value] : context) ::benchmark::AddCustomContext(key, value);
}

}  // namespace vramfit::bench
