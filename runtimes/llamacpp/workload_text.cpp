// What a server's start is, in words and as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/gguf/types.h"
#include "runtimes/llamacpp/workload.h"

namespace vramfit::llamacpp {
namespace {

using Json = nlohmann::ordered_json;

const char* name(FlashAttention flash) {
  return flash == FlashAttention::On ? "on" : flash == FlashAttention::Off ? "off" : "auto";
}

const char* name(SplitMode mode) {
  return mode == SplitMode::None ? "none" : mode == SplitMode::Row ? "row" : "layer";
}

Json overrides_json(const std::vector<std::pair<std::string, std::string>>& overrides) {
  Json list = Json::array();
  for (const auto& [pattern, buffer] : overrides) {
    list.push_back(std::string(pattern).append("=").append(buffer));
  }
  return list;
}

}  // namespace

Json ServerWorkload::asked() const {
  const Placement& placement = options_.placement;
  const ContextOptions& context = options_.context;
  const std::int64_t a_slot = context.context_a_slot;
  Json json = {{"mode", "inference"},
               {"quant", options_.recipe.empty() ? Json(nullptr) : Json(options_.recipe)},
               {"ctx", size(kContextAxis)},
               {"num_ctx", a_slot == 0 ? Json(nullptr) : Json(a_slot)},
               {"parallel", context.sequences},
               {"kv_unified", context.unified},
               {"gpu_layers", size(kLayersAxis)},
               {"cache_type_k", gguf::type_name(context.type_k)},
               {"cache_type_v", gguf::type_name(context.type_v)},
               {"batch_size", context.batch_left_open ? Json(nullptr) : Json(context.batch)},
               {"ubatch_size", context.batch_left_open ? Json(nullptr) : Json(context.ubatch)},
               {"outputs", context.outputs_max == 0 ? "batch" : "slots"},
               {"flash_attn", name(context.flash)},
               {"kv_offload", context.offload_kqv},
               {"op_offload", context.offload_ops},
               {"swa_full", context.swa_full},
               {"mmap", placement.mmap},
               {"override_tensor", overrides_json(placement.overrides)},
               {"n_cpu_moe", std::min(placement.cpu_moe_layers, model_->hparams.run_layers())},
               {"gpus", options_.gpus},
               {"tensor_split", placement.tensor_split},
               {"split_mode", name(placement.split)},
               {"main_gpu", placement.main_gpu},
               {"fit", options_.fits_itself ? "on" : "off"}};
  if (draft_ == nullptr) return json;
  const DraftOptions& draft = options_.draft;
  json["draft"] = {{"model", draft_->hparams.name},
                   {"gpu_layers", draft.gpu_layers < 0 ? Json(nullptr) : Json(draft.gpu_layers)},
                   {"cache_type_k", gguf::type_name(draft.type_k)},
                   {"cache_type_v", gguf::type_name(draft.type_v)},
                   {"override_tensor", overrides_json(draft.overrides)},
                   {"n_cpu_moe", std::min(draft.cpu_moe_layers, draft_->hparams.run_layers())},
                   {"longest", draft.longest}};
  return json;
}

std::string ServerWorkload::text(const std::string& sizes) const {
  const ContextOptions& context = options_.context;
  std::string text = "llama.cpp, " + types() + ", " + sizes;
  if (context.unified && context.sequences > 1) text += ", one cache for all slots";
  text += std::string(", flash attention ") + name(context.flash);
  if (!context.offload_kqv) text += ", the cache on the host";
  if (options_.placement.cpu_moe_layers > 0 || !options_.placement.overrides.empty()) {
    text += ", some tensors on the host";
  }
  if (options_.gpus > 1) text += ", over " + std::to_string(options_.gpus) + " GPUs";
  return options_.fits_itself ? text + ", with --fit on" : text;
}

std::string ServerWorkload::types() const {
  const std::string k = gguf::type_name(options_.context.type_k);
  const std::string v = gguf::type_name(options_.context.type_v);
  return (options_.recipe.empty() ? "weights as in the file" : "weights in " + options_.recipe) +
         ", cache in " + (k == v ? k : k + " and " + v);
}

Json ServerWorkload::release() const {
  return {{"name", "0c1e57098"}, {"llama.cpp", "0c1e57098"}, {"ggml", "0.25.3"}};
}

std::string ServerWorkload::about() const {
  return "llama.cpp 0c1e57098 (ggml 0.25.3) with CUDA. Ollama, LM Studio and others that start it "
         "take the same for the same settings.";
}

std::optional<double> ServerWorkload::reserved_error() const { return 0.01; }

}  // namespace vramfit::llamacpp
