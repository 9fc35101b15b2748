#include "runtimes/vllm/read_options.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "model/config/json_reader.h"
#include "model/errors.h"
#include "model/quantity.h"
#include "runtimes/vllm/speculation.h"

namespace vramfit::vllm {
namespace {

constexpr std::int64_t kLongest = std::int64_t{1} << 24;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 22;
constexpr std::int64_t kMostSequences = std::int64_t{1} << 16;
constexpr std::int64_t kMostRanks = 64;
constexpr std::int64_t kMostAdapters = 1024;
constexpr double kMostHostGiB = 1 << 20;

std::optional<std::int64_t> given(const Flags& flags, const char* name, std::int64_t most) {
  const auto text = typed(flags, name);
  return text ? std::optional(parse_whole(name, *text, 1, most)) : std::nullopt;
}

/// MaxLoRARanks.
std::int64_t rank_of(const Flags& flags) {
  constexpr std::array kRanks = {1, 8, 16, 32, 64, 128, 256, 320, 512};
  const std::int64_t rank = given(flags, "max-lora-rank", kRanks.back()).value_or(16);
  if (std::find(kRanks.begin(), kRanks.end(), rank) == kRanks.end()) {
    throw BadInput("max-lora-rank: " + std::to_string(rank) +
                   " is none that vLLM takes; 1, 8, 16, 32, 64, 128, 256, 320 or 512");
  }
  return rank;
}

/// What a request shows: `{"image": 0}`, or its counts in an object each.
void read_limits(Options& options, const Flags& flags) {
  constexpr const char* kFlag = "limit-mm-per-prompt";
  const auto text = typed(flags, kFlag);
  if (!text) return;
  const nlohmann::json json = parse_json_object(*text, kFlag, "a JSON object");
  const JsonReader limits(json, kFlag);
  const auto none = [&](const char* kind) {
    if (!limits.has(kind)) return false;
    const auto each = json.at(kind).is_object() ? limits.object(kind) : std::nullopt;
    return (each ? each->integer_or("count", 1, 0, 1 << 20) : limits.integer(kind, 0, 1 << 20)) ==
           0;
  };
  options.no_images = none("image");
  options.no_videos = none("video");
}

}  // namespace

Options read_options(const Flags& flags) {
  Options options;
  if (const auto text = typed(flags, "precision")) options.type = parse_precision(*text);
  options.quantization = typed(flags, "quant").value_or("");
  if (const auto text = typed(flags, "gpu-memory-utilization")) {
    options.utilization = parse_number("gpu-memory-utilization", *text, 1e-6, 1);
  }
  if (const auto text = typed(flags, "kv-cache-memory-bytes")) {
    options.cache_bytes = parse_bytes("kv-cache-memory-bytes", *text);
  }
  options.fits_length = typed(flags, "max-model-len") == "auto";
  if (!options.fits_length) options.length = given(flags, "max-model-len", kLongest);
  options.concurrency = given(flags, "concurrency", kMostSequences).value_or(1);
  options.cache_type = typed(flags, "kv-cache-dtype").value_or("auto");
  options.state_type = typed(flags, "mamba-cache-dtype").value_or("auto");
  options.matrix_type = typed(flags, "mamba-ssm-cache-dtype").value_or("auto");
  options.batched_tokens = given(flags, "max-num-batched-tokens", kMostTokens);
  options.sequences = given(flags, "max-num-seqs", kMostSequences);
  options.block = given(flags, "block-size", kMostSequences);
  options.largest_capture = given(flags, "max-cudagraph-capture-size", kMostTokens);
  options.release = typed(flags, "release").value_or(options.release);
  options.eager = has(flags, "enforce-eager");
  options.text_only = has(flags, "language-model-only");
  read_limits(options, flags);
  options.whole_tower = typed(flags, "mm-encoder-tp-mode") == "data";
  options.mode = typed(flags, "performance-mode").value_or(options.mode);
  options.async = !has(flags, "no-async-scheduling");
  if (const auto text = typed(flags, "hf-overrides")) {
    parse_json_object(*text, "hf-overrides", "a JSON object");
    options.overrides = *text;
  }
  options.warm = typed(flags, "compile-cache") == "warm";
  options.offline = typed(flags, "engine") == "offline";
  options.tensor_parallel = given(flags, "tensor-parallel", kMostRanks).value_or(1);
  options.data_parallel = given(flags, "data-parallel", kMostRanks).value_or(1);
  options.expert_parallel = has(flags, "enable-expert-parallel");
  options.pipeline = given(flags, "pipeline-parallel", kMostRanks).value_or(1);
  const Speculation speculation = read_speculation(flags);
  options.drafts = speculation.by;
  options.drafted = speculation.tokens;
  options.speculative = speculation.typed;
  if (const auto text = typed(flags, "cpu-offload-gb")) {
    options.offloaded = parse_number("cpu-offload-gb", *text, 0, kMostHostGiB);
  }
  if (has(flags, "enable-lora")) {
    options.adapters = given(flags, "max-loras", kMostAdapters).value_or(1);
    options.adapters_rank = rank_of(flags);
  }
  return options;
}

}  // namespace vramfit::vllm
