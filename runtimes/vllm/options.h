#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/dtype.h"

namespace vramfit::vllm {

/// What linears are stored in.
enum class Storage : std::uint8_t {
  Plain,   ///< the model's own type
  Fp8,     ///< one byte, a scale a tensor or row
  Packed,  ///< few bits, by Marlin's or Machete's kernels: AWQ, GPTQ, compressed-tensors
  Mxfp4,   ///< experts alone
  Nf4,     ///< bitsandbytes
};

/// What drafts tokens that the model then checks.
enum class Drafts : std::uint8_t {
  None,
  Ngram,   ///< what was there before
  Eagle,   ///< a head of layers that go on from the model's last state
  Eagle3,  ///< from several of its states
  Mtp,     ///< layers of its own checkpoint
  Model,   ///< a smaller one
};

/// How an engine is started: vLLM's own arguments. What is absent is its default, by card.
struct Options {
  double utilization = 0.92;
  std::optional<std::uint64_t> cache_bytes;     ///< --kv-cache-memory-bytes
  std::optional<std::int64_t> length;           ///< --max-model-len; absent: the config's
  bool fits_length = false;                     ///< --max-model-len -1
  std::optional<std::int64_t> batched_tokens;   ///< --max-num-batched-tokens
  std::optional<std::int64_t> sequences;        ///< --max-num-seqs
  std::optional<std::int64_t> block;            ///< --block-size
  std::optional<std::int64_t> largest_capture;  ///< --max-cudagraph-capture-size
  std::int64_t concurrency = 1;  ///< requests of that length that the cache is to hold at once
  DType type = DType::Bf16;
  std::string cache_type = "auto";
  std::string state_type = "auto";   ///< --mamba-cache-dtype
  std::string matrix_type = "auto";  ///< --mamba-ssm-cache-dtype: of what is no convolution's
  std::string quantization;          ///< --quantization; empty: the config's
  std::string release = "0.26";
  bool eager = false;
  bool text_only = false;  ///< --language-model-only: what sees is left out
  bool no_images = false;  ///< --limit-mm-per-prompt: not one of a request's
  bool no_videos = false;
  bool whole_tower = false;       ///< --mm-encoder-tp-mode data: each rank has all of what sees
  std::string mode = "balanced";  ///< --performance-mode
  bool async = true;              ///< a step is prepared while another runs
  std::string overrides = {};     ///< --hf-overrides as it was typed: JSON; empty: none
  bool offline = false;           ///< vllm.LLM, whose defaults differ from the server's
  bool warm = false;              ///< an earlier start has left what it compiled
  std::int64_t tensor_parallel = 1;
  std::int64_t data_parallel = 1;  ///< engines side by side, each with requests of its own
  bool expert_parallel = false;    ///< experts are shared out whole
  std::int64_t pipeline = 1;       ///< GPUs that have layers one behind the other
  Drafts drafts = Drafts::None;
  std::int64_t drafted = 0;         ///< tokens, beside the one that is sampled
  std::string speculative = {};     ///< --speculative-config as it was typed: JSON; empty: none
  double offloaded = 0;             ///< --cpu-offload-gb, GiB
  std::int64_t adapters = 0;        ///< --max-loras; 0: without --enable-lora
  std::int64_t adapters_rank = 16;  ///< --max-lora-rank
};

}  // namespace vramfit::vllm
