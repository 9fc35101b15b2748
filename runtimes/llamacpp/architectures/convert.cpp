#include "runtimes/llamacpp/architectures/convert.h"

#include "model/errors.h"
#include "runtimes/llamacpp/architectures/architecture.h"
#include "runtimes/llamacpp/base/limits.h"

namespace vramfit::llamacpp {
namespace {

const Architecture& architecture_of(const HfConfig& config) {
  const std::string model_class = config.model_class();
  const Architecture* found = find_converted(model_class);
  if (found == nullptr) {
    throw UnknownModel(config.source() + ": " + shortened(model_class, 40) +
                       " is not known here under llama.cpp; " + kKnownArchitectures);
  }
  return *found;
}

/// ExpertGatingFuncType, of conversion/base.py's keys and words.
void convert_gating(const HfConfig& config, ArchWriter& keys) {
  const char* key = config.first({"score_function", "scoring_func", "score_func",
                                  "moe_router_activation", "moe_router_activation_func"});
  if (key == nullptr) return;
  const std::string function = config.json().one_of(key, {"softmax", "sigmoid"});
  keys.set("expert_gating_func", std::int64_t{function == "softmax" ? 1 : 2});
}

/// TextModel.set_gguf_parameters of conversion/base.py.
void convert_common(const HfConfig& config, ArchWriter& keys) {
  const auto copy = [&](const char* to, std::initializer_list<const char*> from,
                        std::int64_t at_most) {
    if (config.first(from) != nullptr) keys.set(to, config.integer_or(from, 0, at_most));
  };
  keys.set("block_count", config.layers());
  copy("context_length",
       {"max_position_embeddings", "n_ctx", "n_positions", "max_length", "max_sequence_length",
        "model_max_length"},
       kLongestContext);
  keys.set("embedding_length", config.width());
  copy("feed_forward_length",
       {"prefix_dense_intermediate_size", "dense_intermediate_size", "intermediate_size", "n_inner",
        "hidden_dim"},
       kLargestFfn);
  copy("attention.head_count", {"num_attention_heads", "n_head", "n_heads"}, kMostHeads);
  copy("attention.head_count_kv", {"num_key_value_heads", "n_kv_heads"}, kMostHeads);
  copy("expert_count", {"num_local_experts", "num_experts", "n_routed_experts"}, kMostExperts);
  copy("expert_used_count", {"num_experts_per_tok", "num_experts_per_token", "top_k_experts"},
       kMostExperts);
  copy("expert_group_count", {"n_group"}, kMostExperts);
  copy("expert_group_used_count", {"topk_group"}, kMostExperts);
  convert_gating(config, keys);
  copy("attention.key_length", {"head_dim"}, kLargestHead);
  copy("attention.value_length", {"head_dim"}, kLargestHead);
}

}  // namespace

gguf::Metadata convert_config(const HfConfig& config) {
  const Architecture& arch = architecture_of(config);
  gguf::Metadata metadata(config.source());
  metadata.set("general.architecture", std::string(arch.name));
  ArchWriter keys(metadata, arch.name);
  convert_common(config, keys);
  const std::int64_t vocab = config.integer_or({"vocab_size"}, 0, kLargestVocab);
  if (vocab > 0) keys.set("vocab_size", vocab);
  arch.convert(config, keys);
  return metadata;
}

std::vector<ModelTensor> converted_tensors(const HfConfig& config, const Hparams& hparams) {
  TensorList list(hparams);
  architecture_of(config).tensors(hparams, config, list);
  return list.take();
}

}  // namespace vramfit::llamacpp
