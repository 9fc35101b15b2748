#include "runtimes/vllm/spellings.h"

#include <array>

namespace vramfit::vllm {
namespace {

/// Whose key it is, and what others call it.
struct Spelling {
  std::string_view architecture;
  const char* theirs;
  const char* ours;
};

constexpr std::array kSpellings = {
    Spelling{"Ernie4_5_MoeForCausalLM", "moe_num_experts", "num_experts"},
    Spelling{"Ernie4_5_MoeForCausalLM", "moe_k", "num_experts_per_tok"},
    Spelling{"Ernie4_5_MoeForCausalLM", "moe_num_shared_experts", "n_shared_experts"},
    Spelling{"Ernie4_5_MoeForCausalLM", "moe_layer_start_index", "first_k_dense_replace"},
    Spelling{"Ernie4_5_MoeForCausalLM", "moe_layer_interval", "decoder_sparse_step"},
    Spelling{"Ernie4_5_MoeForCausalLM", "use_bias", "attention_bias"},
    Spelling{"HunYuanMoEV1ForCausalLM", "moe_topk", "num_experts_per_tok"},
    Spelling{"HunYuanMoEV1ForCausalLM", "num_shared_expert", "n_shared_experts"},
    Spelling{"HunYuanMoEV1ForCausalLM", "moe_intermediate_size", "moe_intermediate_size"},
    Spelling{"Lfm2MoeForCausalLM", "num_dense_layers", "first_k_dense_replace"},
    Spelling{"BailingMoeForCausalLM", "num_shared_experts", "n_shared_experts"},
    Spelling{"BailingMoeForCausalLM", "use_bias", "attention_bias"},
    Spelling{"NemotronHForCausalLM", "mamba_num_heads", "mamba_n_heads"},
    Spelling{"NemotronHForCausalLM", "ssm_state_size", "mamba_d_state"},
    Spelling{"NemotronHForCausalLM", "n_groups", "mamba_n_groups"},
    Spelling{"NemotronHForCausalLM", "conv_kernel", "mamba_d_conv"},
    Spelling{"NemotronHForCausalLM", "use_conv_bias", "mamba_conv_bias"},
    Spelling{"NemotronHForCausalLM", "use_bias", "mamba_proj_bias"},
    Spelling{"NemotronHForCausalLM", "mamba_ssm_cache_dtype", "mamba_ssm_dtype"},
    Spelling{"NemotronHForCausalLM", "intermediate_size", "intermediate_size"},
    Spelling{"Mamba2ForCausalLM", "num_heads", "mamba_n_heads"},
    Spelling{"Mamba2ForCausalLM", "num_heads", "num_attention_heads"},
    Spelling{"Mamba2ForCausalLM", "head_dim", "mamba_head_dim"},
    Spelling{"Mamba2ForCausalLM", "state_size", "mamba_d_state"},
    Spelling{"Mamba2ForCausalLM", "n_groups", "mamba_n_groups"},
    Spelling{"Mamba2ForCausalLM", "conv_kernel", "mamba_d_conv"},
    Spelling{"Mamba2ForCausalLM", "use_conv_bias", "mamba_conv_bias"},
    Spelling{"Mamba2ForCausalLM", "use_bias", "mamba_proj_bias"},
    Spelling{"Llama4ForCausalLM", "intermediate_size", "moe_intermediate_size"},
    Spelling{"Llama4ForCausalLM", "intermediate_size_mlp", "intermediate_size"},
    Spelling{"Llama4ForCausalLM", "interleave_moe_layer_step", "decoder_sparse_step"},
};

}  // namespace

Config spelled(const Config& config, std::string_view architecture) {
  Config ours = config;
  for (const Spelling& one : kSpellings) {
    if (one.architecture == architecture) ours = ours.renamed(one.theirs, one.ours);
  }
  return ours;
}

}  // namespace vramfit::vllm
