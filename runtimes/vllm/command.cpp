#include "runtimes/vllm/command.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "runtimes/vllm/speculation.h"

namespace vramfit::vllm {
namespace {

/// A word of a shell's that is `text`, whatever that holds.
std::string in_shell(const std::string& text) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-_./:@+=,").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace

std::string command_of(const Shape& shape, const Options& options, const Start& start) {
  std::ostringstream line;
  line << "vllm serve " << in_shell(shape.name);
  if (options.type == DType::Fp16) line << " --dtype float16";
  if (options.type == DType::Fp32) line << " --dtype float32";
  if (!options.quantization.empty()) line << " --quantization " << options.quantization;
  line << " --max-model-len " << start.length;
  if (options.cache_bytes) {
    line << " --kv-cache-memory-bytes " << *options.cache_bytes;
  }
  if (!options.cache_bytes || options.utilization != Options().utilization) {
    line << " --gpu-memory-utilization " << options.utilization;
  }
  line << " --max-num-batched-tokens " << start.batch.tokens << " --max-num-seqs "
       << start.batch.sequences;
  if (options.cache_type != "auto") line << " --kv-cache-dtype " << options.cache_type;
  if (options.state_type != "auto") line << " --mamba-cache-dtype " << options.state_type;
  if (options.matrix_type != "auto") line << " --mamba-ssm-cache-dtype " << options.matrix_type;
  if (options.block) line << " --block-size " << *options.block;
  if (options.largest_capture) {
    line << " --max-cudagraph-capture-size " << *options.largest_capture;
  }
  if (options.text_only) line << " --language-model-only";
  if (options.no_images || options.no_videos) {
    nlohmann::ordered_json limits;
    if (options.no_images) limits["image"] = 0;
    if (options.no_videos) limits["video"] = 0;
    line << " --limit-mm-per-prompt " << in_shell(limits.dump());
  }
  if (options.whole_tower) line << " --mm-encoder-tp-mode data";
  if (!options.overrides.empty()) line << " --hf-overrides " << in_shell(options.overrides);
  if (options.mode != Options().mode) line << " --performance-mode " << options.mode;
  if (!options.async) line << " --no-async-scheduling";
  if (options.eager) line << " --enforce-eager";
  if (options.tensor_parallel > 1) line << " --tensor-parallel-size " << options.tensor_parallel;
  if (options.data_parallel > 1) line << " --data-parallel-size " << options.data_parallel;
  if (options.expert_parallel) line << " --enable-expert-parallel";
  if (options.pipeline > 1) line << " --pipeline-parallel-size " << options.pipeline;
  if (options.offloaded > 0) line << " --cpu-offload-gb " << options.offloaded;
  if (options.drafted > 0) {
    // As it was typed, with what was left to the model.
    auto drafts = nlohmann::ordered_json::parse(options.speculative);
    drafts["method"] = name(options.drafts);
    drafts["num_speculative_tokens"] = options.drafted;
    line << " --speculative-config " << in_shell(drafts.dump());
  }
  if (options.adapters > 0) {
    line << " --enable-lora --max-loras " << options.adapters << " --max-lora-rank "
         << options.adapters_rank;
  }
  return line.str();
}

}  // namespace vramfit::vllm
