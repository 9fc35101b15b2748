// What an engine's start is, in words and as JSON.
#include <nlohmann/json.hpp>

#include "runtimes/vllm/releases.h"
#include "runtimes/vllm/speculation.h"
#include "runtimes/vllm/storage.h"
#include "runtimes/vllm/workload.h"

namespace vramfit::vllm {
namespace {

using Json = nlohmann::ordered_json;

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

Json EngineWorkload::asked() const {
  const std::string quantization = quantization_of(*shape_, options_);
  return {{"mode", "inference"},
          {"precision", name(options_.type)},
          {"quant", quantization.empty() ? Json(nullptr) : Json(quantization)},
          {"max_model_len", options_.fits_length ? Json("auto") : Json(size(kLengthAxis))},
          {"concurrency", options_.concurrency},
          {"gpu_memory_utilization", options_.utilization},
          {"kv_cache_memory_bytes", or_null(options_.cache_bytes)},
          {"kv_cache_dtype", options_.cache_type},
          {"mamba_cache_dtype", options_.state_type},
          {"mamba_ssm_cache_dtype", options_.matrix_type},
          {"max_num_batched_tokens", or_null(options_.batched_tokens)},
          {"max_num_seqs", or_null(options_.sequences)},
          {"block_size", or_null(options_.block)},
          {"enforce_eager", options_.eager},
          {"language_model_only", options_.text_only},
          {"limit_mm_per_prompt",
           {{"image", options_.no_images ? Json(0) : Json(nullptr)},
            {"video", options_.no_videos ? Json(0) : Json(nullptr)}}},
          {"mm_encoder_tp_mode", options_.whole_tower ? "data" : "weights"},
          {"hf_overrides",
           options_.overrides.empty() ? Json(nullptr) : Json::parse(options_.overrides)},
          {"performance_mode", options_.mode},
          {"no_async_scheduling", !options_.async},
          {"max_cudagraph_capture_size", or_null(options_.largest_capture)},
          {"compile_cache", options_.warm ? "warm" : "cold"},
          {"engine", options_.offline ? "offline" : "server"},
          {"release", options_.release},
          {"tensor_parallel", options_.tensor_parallel},
          {"data_parallel", options_.data_parallel},
          {"enable_expert_parallel", options_.expert_parallel},
          {"pipeline_parallel", options_.pipeline},
          {"drafts", options_.drafts == Drafts::None ? Json(nullptr) : Json(name(options_.drafts))},
          {"drafted", options_.drafted},
          {"cpu_offload_gb", options_.offloaded},
          {"max_loras", options_.adapters},
          {"max_lora_rank", options_.adapters > 0 ? Json(options_.adapters_rank) : Json(nullptr)}};
}

std::string EngineWorkload::text(const std::string& sizes) const {
  std::string text = "vLLM, " + types() + ", " + sizes;
  if (options_.eager) text += ", eager";
  const std::int64_t gpus = options_.tensor_parallel * options_.pipeline * options_.data_parallel;
  if (gpus > 1) text += ", over " + std::to_string(gpus) + " GPUs";
  return text;
}

std::string EngineWorkload::types() const {
  const std::string quantization = quantization_of(*shape_, options_);
  const std::string weights = quantization.empty() ? name(options_.type) : quantization;
  const std::string cache =
      options_.cache_type == "auto" ? name(options_.type) : options_.cache_type;
  return "weights in " + weights + ", cache in " + cache;
}

Json EngineWorkload::release() const {
  const Release& release = release_named(options_.release);
  return {{"name", release.name}, {"vllm", release.vllm}, {"torch", release.torch}};
}

std::string EngineWorkload::about() const {
  const Release& release = release_named(options_.release);
  return "vLLM " + std::string(release.name) + " with torch " + std::string(release.torch) +
         ", its V1 engine, CUDA. What it counts, and so its blocks, follows its source; what it "
         "takes beyond its share is a prediction of ours.";
}

// Only the first was measured; of others this is a guess.
std::optional<double> EngineWorkload::reserved_error() const {
  return options_.release == releases().front().name ? 0.003 : 0.03;
}

}  // namespace vramfit::vllm
