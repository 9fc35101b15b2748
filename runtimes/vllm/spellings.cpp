#include "runtimes/vllm/spellings.h"

#include <array>

namespace vramfit::vllm {
namespace {

/// Whose key it is, and what others call it.
struct ClassKey {
  std::string_view architecture;
  const char* theirs;
  const char* ours;
};

constexpr std::array kClassKeys = {
    ClassKey{"Ernie4_5_MoeForCausalLM", "moe_num_experts", "num_experts"},
    ClassKey{"Ernie4_5_MoeForCausalLM", "moe_k", "num_experts_per_tok"},
    ClassKey{"Ernie4_5_MoeForCausalLM", "moe_num_shared_experts", "n_shared_experts"},
    ClassKey{"Ernie4_5_MoeForCausalLM", "moe_layer_start_index", "first_k_dense_replace"},
    ClassKey{"Ernie4_5_MoeForCausalLM", "moe_layer_interval", "decoder_sparse_step"},
    ClassKey{"Ernie4_5_MoeForCausalLM", "use_bias", "attention_bias"},
    ClassKey{"HunYuanMoEV1ForCausalLM", "moe_topk", "num_experts_per_tok"},
    ClassKey{"HunYuanMoEV1ForCausalLM", "num_shared_expert", "n_shared_experts"},
    ClassKey{"HunYuanMoEV1ForCausalLM", "moe_intermediate_size", "moe_intermediate_size"},
    ClassKey{"Lfm2MoeForCausalLM", "num_dense_layers", "first_k_dense_replace"},
    ClassKey{"BailingMoeForCausalLM", "num_shared_experts", "n_shared_experts"},
    ClassKey{"BailingMoeForCausalLM", "use_bias", "attention_bias"},
    ClassKey{"NemotronHForCausalLM", "mamba_num_heads", "mamba_n_heads"},
    ClassKey{"NemotronHForCausalLM", "ssm_state_size", "mamba_d_state"},
    ClassKey{"NemotronHForCausalLM", "n_groups", "mamba_n_groups"},
    ClassKey{"NemotronHForCausalLM", "conv_kernel", "mamba_d_conv"},
    ClassKey{"NemotronHForCausalLM", "use_conv_bias", "mamba_conv_bias"},
    ClassKey{"NemotronHForCausalLM", "use_bias", "mamba_proj_bias"},
    ClassKey{"NemotronHForCausalLM", "mamba_ssm_cache_dtype", "mamba_ssm_dtype"},
    ClassKey{"NemotronHForCausalLM", "intermediate_size", "intermediate_size"},
    ClassKey{"Mamba2ForCausalLM", "num_heads", "mamba_n_heads"},
    ClassKey{"Mamba2ForCausalLM", "num_heads", "num_attention_heads"},
    ClassKey{"Mamba2ForCausalLM", "head_dim", "mamba_head_dim"},
    ClassKey{"Mamba2ForCausalLM", "state_size", "mamba_d_state"},
    ClassKey{"Mamba2ForCausalLM", "n_groups", "mamba_n_groups"},
    ClassKey{"Mamba2ForCausalLM", "conv_kernel", "mamba_d_conv"},
    ClassKey{"Mamba2ForCausalLM", "use_conv_bias", "mamba_conv_bias"},
    ClassKey{"Mamba2ForCausalLM", "use_bias", "mamba_proj_bias"},
    ClassKey{"Llama4ForCausalLM", "intermediate_size", "moe_intermediate_size"},
    ClassKey{"Llama4ForCausalLM", "intermediate_size_mlp", "intermediate_size"},
    ClassKey{"Llama4ForCausalLM", "interleave_moe_layer_step", "decoder_sparse_step"},
};

}  // namespace

Config spelled(const Config& config, std::string_view architecture) {
  Config ours = config;
  for (const ClassKey& one : kClassKeys) {
    if (one.architecture == architecture) ours = ours.renamed(one.theirs, one.ours);
  }
  return ours;
}

}  // namespace vramfit::vllm
