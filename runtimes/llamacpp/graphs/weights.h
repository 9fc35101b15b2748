#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/llamacpp/base/model.h"
#include "runtimes/llamacpp/ggml/ops.h"

namespace vramfit::llamacpp {

/// Which backend holds what of a model: GPUs by number, then the host.
struct Residence {
  std::vector<ggml::BackendId> tensors;       ///< of Model::tensors, one each
  std::vector<ggml::BackendId> layers;        ///< whose caches lie there
  std::vector<ggml::BackendId> rope_factors;  ///< which layers rotate by; of a model without: none
  ggml::BackendId output = ggml::kNoBackend;
  bool fully_offloaded = false;    ///< -ngl took the output and every layer
  bool pipeline_parallel = false;  ///< of that, layers on several GPUs and no overrides
};

/// Weights of a layer, those that it has: llama_layer. Biases end in _b, what a product is scaled
/// by in _s.
struct LayerWeights {
  using T = ggml::Tensor*;

  T attn_norm{}, attn_norm_b{}, attn_norm_2{}, attn_norm_2_b{}, attn_post_norm{};
  T wq{}, wq_b{}, wk{}, wk_b{}, wv{}, wv_b{}, wqkv{}, wqkv_b{}, wqkv_gate{}, wo{}, wo_b{};
  T wq_s{}, wk_s{}, wv_s{}, wqkv_s{}, wo_s{};
  T attn_q_norm{}, attn_k_norm{}, attn_sinks{};
  T rope_factors{};
  T ffn_norm{}, ffn_norm_b{}, ffn_post_norm{};
  T ffn_up{}, ffn_up_b{}, ffn_gate{}, ffn_gate_b{}, ffn_down{}, ffn_down_b{};
  T ffn_up_s{}, ffn_gate_s{}, ffn_down_s{};

  // Mixtures of experts, and experts that all tokens go through.
  T ffn_gate_inp{}, ffn_gate_inp_b{}, ffn_exp_probs_b{};
  T ffn_up_exps{}, ffn_up_exps_b{}, ffn_gate_exps{}, ffn_gate_exps_b{}, ffn_gate_up_exps{};
  T ffn_down_exps{}, ffn_down_exps_b{};
  T ffn_up_exps_s{}, ffn_gate_exps_s{}, ffn_down_exps_s{};
  T ffn_up_shexp{}, ffn_gate_shexp{}, ffn_down_shexp{}, ffn_gate_inp_shexp{};
  T ffn_up_shexp_s{}, ffn_gate_shexp_s{}, ffn_down_shexp_s{};

  // Latent attention.
  T wq_a{}, wq_b_proj{}, attn_q_a_norm{}, wkv_a_mqa{}, attn_kv_a_norm{}, wkv_b{}, wk_b_proj{},
      wv_b_proj{};

  // Convolutions and gated delta nets.
  T shortconv_conv{}, shortconv_in{}, shortconv_out{};
  T ssm_in{}, ssm_conv1d{}, ssm_dt{}, ssm_a{}, ssm_beta_alpha{}, ssm_norm{}, ssm_out{};

  // gemma4.
  T ffn_gate_inp_s{}, ffn_pre_norm_2{}, ffn_post_norm_1{}, ffn_post_norm_2{};
  T per_layer_inp_gate{}, per_layer_proj{}, per_layer_post_norm{}, out_scale{};
};

/// Weights as tensors that are in buffers already: llama_model.
struct Weights {
  ggml::Tensor* token_embd = nullptr;
  ggml::Tensor* output_norm = nullptr;
  ggml::Tensor* output_norm_b = nullptr;
  ggml::Tensor* output = nullptr;  ///< a copy of token_embd where the model has none
  ggml::Tensor* output_b = nullptr;
  ggml::Tensor* output_s = nullptr;
  ggml::Tensor* per_layer_token_embd = nullptr;
  ggml::Tensor* per_layer_model_proj = nullptr;
  ggml::Tensor* per_layer_proj_norm = nullptr;
  std::vector<LayerWeights> layers;
};

/// Throws BadInput where a tensor is missing that every graph has.
Weights bind_weights(const Model& model, const Residence& residence, ggml::Ops& ops);

}  // namespace vramfit::llamacpp
