#include "runtimes/vllm/read_options.h"

#include "model/quantity.h"

namespace vramfit::vllm {
namespace {

constexpr std::int64_t kLongest = std::int64_t{1} << 24;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 22;
constexpr std::int64_t kMostSequences = std::int64_t{1} << 16;
constexpr std::int64_t kMostRanks = 64;

std::optional<std::int64_t> given(const Flags& flags, const char* name, std::int64_t most) {
  const auto text = typed(flags, name);
  return text ? std::optional(parse_whole(name, *text, 1, most)) : std::nullopt;
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
  options.batched_tokens = given(flags, "max-num-batched-tokens", kMostTokens);
  options.sequences = given(flags, "max-num-seqs", kMostSequences);
  options.block = given(flags, "block-size", kMostSequences);
  options.largest_capture = given(flags, "max-cudagraph-capture-size", kMostTokens);
  options.release = typed(flags, "release").value_or(options.release);
  options.eager = has(flags, "enforce-eager");
  options.warm = typed(flags, "compile-cache") == "warm";
  options.offline = typed(flags, "engine") == "offline";
  options.tensor_parallel = given(flags, "tensor-parallel", kMostRanks).value_or(1);
  return options;
}

}  // namespace vramfit::vllm
