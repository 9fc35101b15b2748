#include "runtimes/vllm/settings.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace vramfit::vllm {
namespace {

std::string canonical_type(std::string_view, const std::string& alias) {
  if (alias == "float16" || alias == "half") return "fp16";
  if (alias == "bfloat16") return "bf16";
  return alias == "float32" || alias == "float" ? "fp32" : alias;
}

/// human_readable_int: 8k are 8,000, 8.5k 8,500, 8K 8,192.
std::string canonical_count(std::string_view, const std::string& alias) {
  constexpr std::size_t kMostDigits = 9;
  if (alias.size() < 2 || alias.size() > kMostDigits + 2) return alias;
  const std::string number = alias.substr(0, alias.size() - 1);
  const std::size_t point = number.find('.');
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto are_digits = [&](const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
  };
  const bool is_decimal = std::string_view("kmgt").find(alias.back()) != std::string_view::npos;
  const std::size_t power = std::string_view(is_decimal ? "kmgt" : "KMGT").find(alias.back());
  if (power == std::string_view::npos || !are_digits(number.substr(0, point))) return alias;
  if (point != std::string::npos && !(is_decimal && are_digits(number.substr(point + 1)))) {
    return alias;
  }
  const double unit = std::pow(is_decimal ? 1000 : 1024, static_cast<double>(power + 1));
  const double count = std::stod(number) * unit;
  constexpr double kMostExact = 9e15;
  return count < kMostExact ? std::to_string(static_cast<std::int64_t>(count)) : alias;
}

/// What people write for "as much as fits".
std::string canonical_length(std::string_view flag, const std::string& alias) {
  return alias == "-1" ? "auto" : canonical_count(flag, alias);
}

std::string canonical_cache(std::string_view, const std::string& alias) {
  return alias == "fp8_e4m3" || alias == "fp8_e5m2" ? "fp8" : alias;
}

}  // namespace

const Settings& settings() {
  using enum Setting::With;
  using enum Setting::Takes;
  static const Settings rows = {
      {.name = "precision",
       .help = "fp16, bf16 or fp32 (default: the config's; of fp32, bf16)",
       .spellings = {{"dtype"}},
       .canonical_value = canonical_type,
       .offers = plain_precision_offers()},
      {.name = "quant",
       .with = Inference,
       .help = "fp8 makes weights of 16 bits ones of 8 as they are loaded (default: as stored)",
       .offers = {{"", "as stored"}, {"fp8", "fp8, as it loads"}}},
      {.name = "max-model-len",
       .with = Inference,
       .help = "tokens of the longest request (default: the config's; auto: as many as fit)",
       .spellings = {{"ctx"}, {"context-length"}},
       .canonical_value = canonical_length},
      {.name = "concurrency",
       .with = Inference,
       .help = "requests of that length that the cache is to hold at once (default 1, without "
               "which vLLM does not start)",
       .takes = Number},
      {.name = "gpu-memory-utilization",
       .with = Inference,
       .help = "of the card, what it asks for (default 0.92)"},
      {.name = "kv-cache-memory-bytes",
       .with = Inference,
       .help = "its cache, instead of what that leaves; so much must be free all the same",
       .canonical_value = canonical_count},
      {.name = "kv-cache-dtype",
       .with = Inference,
       .help = "auto (default: the model's type), bfloat16 or fp8",
       .choices = {"auto", "bfloat16", "float16", "fp8"},
       .canonical_value = canonical_cache},
      {.name = "mamba-cache-dtype",
       .with = Inference,
       .help = "of states: auto (default: the model's type), float32, float16 or bfloat16",
       .choices = {"auto", "float32", "float16", "bfloat16"}},
      {.name = "mamba-ssm-cache-dtype",
       .with = Inference,
       .help = "of their matrices: auto (default: as the convolution's), float32, float16 or "
               "bfloat16",
       .choices = {"auto", "float32", "float16", "bfloat16"}},
      {.name = "max-num-batched-tokens",
       .with = Inference,
       .help = "tokens of a step (default: by card, 8192 from 70 GiB on, else 2048)",
       .takes = Number,
       .canonical_value = canonical_count},
      {.name = "max-num-seqs",
       .with = Inference,
       .help = "requests of a step (default: by card, 1024 from 70 GiB on, else 256)",
       .takes = Number},
      {.name = "block-size",
       .with = Inference,
       .help = "tokens of a block (default 16)",
       .takes = Number},
      {.name = "enforce-eager",
       .with = Inference,
       .help = "nothing is compiled, and no graph captured",
       .takes = Nothing},
      {.name = "language-model-only",
       .with = Inference,
       .help = "of a model that sees its text alone",
       .takes = Nothing},
      {.name = "limit-mm-per-prompt",
       .with = Inference,
       .help = "what a request shows at most, as JSON: without images and videos what sees is left "
               "out: {\"image\": 0, \"video\": 0}"},
      {.name = "mm-encoder-tp-mode",
       .with = Inference,
       .help = "weights (default): GPUs share what sees; data: each has all of it",
       .choices = {"weights", "data"}},
      {.name = "hf-overrides",
       .with = Inference,
       .help = "keys of the config, as JSON: {\"rope_scaling\": {\"rope_type\": \"yarn\", …}}"},
      {.name = "performance-mode",
       .with = Inference,
       .help = "throughput: steps twice as large, where their size is not given; interactivity: "
               "graphs of each number of tokens up to 32 (default: balanced)",
       .choices = {"balanced", "interactivity", "throughput"}},
      {.name = "no-async-scheduling",
       .with = Inference,
       .help = "no step is prepared while another runs",
       .takes = Nothing},
      {.name = "max-cudagraph-capture-size",
       .with = Inference,
       .help = "tokens of the largest graph (default: twice the requests, at most 512)",
       .takes = Number},
      {.name = "compile-cache",
       .with = Inference,
       .help = "cold (default): this start compiles; warm: an earlier one did, which leaves more "
               "to the cache",
       .choices = {"cold", "warm"}},
      {.name = "engine",
       .with = Inference,
       .help = "server (default), or offline, a vllm.LLM: their defaults differ",
       .choices = {"server", "offline"}},
      {.name = "release",
       .with = Inference,
       .help = "0.26 (default), which was measured, or 0.33",
       .choices = {"0.26", "0.33"},
       .offers = {{"", "0.26"}, {"0.33", "0.33, simulated"}}},
      {.name = "tensor-parallel",
       .with = Inference,
       .help = "GPUs that share every layer (default 1); figures are of each",
       .takes = Number},
      {.name = "data-parallel",
       .with = Inference,
       .help = "engines side by side, which share experts out (default 1); figures are of each GPU",
       .takes = Number},
      {.name = "enable-expert-parallel",
       .with = Inference,
       .help = "GPUs that share experts have each some of them whole",
       .takes = Nothing},
      {.name = "pipeline-parallel",
       .with = Inference,
       .help = "GPUs that have layers one behind the other (default 1); figures are of the fullest",
       .takes = Number},
      {.name = "cpu-offload-gb",
       .with = Inference,
       .help = "GiB of layers' weights on the host; of 0.26 by the first runner alone: mixtures, "
               "ngram"},
      {.name = "speculative-config",
       .with = Inference,
       .help = "drafts, as JSON: {\"method\": \"eagle3\", \"model\": DIR, "
               "\"num_speculative_tokens\": 3}; ngram, eagle, eagle3, mtp or draft_model"},
      {.name = "enable-lora",
       .with = Inference,
       .help = "slots of adapters, which the model's products are wrapped for",
       .takes = Nothing},
      {.name = "max-loras", .with = Inference, .help = "such slots (default 1)", .takes = Number},
      {.name = "max-lora-rank",
       .with = Inference,
       .help = "rank that each has room for (default 16)",
       .takes = Number},
  };
  return rows;
}

}  // namespace vramfit::vllm
