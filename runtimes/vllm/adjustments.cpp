// What could be changed about a start of vLLM's so that it takes less, or starts at all.
#include <algorithm>
#include <cmath>
#include <utility>

#include "runtimes/vllm/seeing.h"
#include "runtimes/vllm/storage.h"
#include "runtimes/vllm/workload.h"

namespace vramfit::vllm {
namespace {

constexpr std::int64_t kLeastLength = 2048;
constexpr std::int64_t kFewTokens = 2048;
constexpr std::int64_t kFewRequests = 64;

Adjustment lengths(std::int64_t now) {
  Adjustment adjustment{.parts = {"context"}, .choices = {}, .of_sizes = true};
  for (std::int64_t size = now / 2; size >= std::max(now / 8, kLeastLength); size /= 2) {
    adjustment.choices.push_back({.label = "requests of " + std::to_string(size) + " tokens",
                                  .flags = {{"max-model-len", std::to_string(size)}},
                                  .keeps = static_cast<double>(size) / static_cast<double>(now)});
  }
  return adjustment;
}

/// Another share of the card: less where that much is not free, more for its cache; the nearest
/// first.
Adjustment shares(double now) {
  constexpr double kLeastStep = 0.005;
  std::vector<std::pair<double, const char*>> others = {
      {0.95, "0.95"}, {0.9, "0.9"}, {0.85, "0.85"}, {0.8, "0.8"}, {0.7, "0.7"}};
  std::stable_sort(others.begin(), others.end(), [&](const auto& a, const auto& b) {
    return std::abs(a.first - now) < std::abs(b.first - now);
  });
  Adjustment adjustment{.parts = {"share"}, .choices = {}};
  for (const auto& [share, text] : others) {
    if (std::abs(share - now) < kLeastStep) continue;
    adjustment.choices.push_back(
        {.label = std::string(text) + " of the card", .flags = {{"gpu-memory-utilization", text}}});
  }
  return adjustment;
}

}  // namespace

std::vector<Adjustment> EngineWorkload::adjustments(const ModelConfig&) const {
  std::vector<Adjustment> list;
  if (!options_.cache_bytes) list.push_back(shares(options_.utilization));
  if (options_.batched_tokens.value_or(kFewTokens + 1) > kFewTokens) {
    list.push_back(adjustment_of(
        "step", {.label = "steps of 2048 tokens",
                 .flags = {{"max-num-batched-tokens", "2048"}, {"max-num-seqs", "256"}}}));
  }
  if (options_.sequences.value_or(kFewRequests + 1) > kFewRequests) {
    list.push_back(adjustment_of(
        "requests", {.label = "64 requests at once", .flags = {{"max-num-seqs", "64"}}}));
  }
  if (options_.cache_type == "auto") {
    list.push_back(adjustment_of("cache", {.label = "the cache in fp8",
                                           .changes = {{"cache", "bf16", "fp8"}},
                                           .flags = {{"kv-cache-dtype", "fp8"}}}));
  }
  if (quantization_of(*shape_, options_).empty()) {
    list.push_back(adjustment_of("quant", {.label = "weights in fp8",
                                           .changes = {{"quant", "bf16", "fp8"}},
                                           .flags = {{"quant", "fp8"}}}));
  }
  if (has_tower(*shape_, options_)) {
    list.push_back(adjustment_of("tower", {.label = "its text alone, without what sees",
                                           .flags = {{"language-model-only", ""}}}));
  }
  if (!options_.eager) {
    list.push_back(adjustment_of("eager", {.label = "without compilation and CUDA graphs",
                                           .flags = {{"enforce-eager", ""}}}));
  }
  Adjustment shorter = lengths(positions());
  if (!shorter.choices.empty() && !options_.fits_length) list.push_back(std::move(shorter));
  return list;
}

}  // namespace vramfit::vllm
