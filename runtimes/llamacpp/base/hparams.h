#pragma once

#include <cstdint>
#include <string>
#include <vector>

// What llama.cpp knows of a model beside its tensors: llama_hparams (src/llama-hparams.h), of which
// here is what memory depends on. Names are its own, without n_.
namespace vramfit::llamacpp {

/// What the feed-forward network of a layer's experts is gated by.
enum class Gating : std::uint8_t { None, Softmax, Sigmoid, SoftmaxWeight };

/// Of one layer. Sizes are in elements.
struct Layer {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  ///< 0: no attention (recurrent, or a convolution)
  std::int64_t ffn = 0;       ///< 0: experts alone
  bool experts = false;       ///< a mixture of experts in place of, or beside, the dense network
  bool sliding = false;       ///< attends to the last `window` positions alone (is_swa)
  bool recurrent = false;     ///< keeps a state in place of a cache (is_recr)
  bool rope = true;
};

struct Hparams {
  std::string arch;  ///< general.architecture: "llama", "qwen3moe"
  std::string name;  ///< for people
  std::vector<Layer> layers;
  std::int64_t vocab = 0;
  std::int64_t context_train = 0;  ///< positions it was trained on
  std::int64_t embd = 0;           ///< width of the residual stream
  std::int64_t head_k = 0;         ///< dimensions of a key's head (n_embd_head_k_full)
  std::int64_t head_v = 0;
  std::int64_t head_k_swa = 0;  ///< of sliding layers, where they differ (gemma4); else as head_k
  std::int64_t head_v_swa = 0;
  std::int64_t rot = 0;  ///< rotated dimensions of a head
  std::int64_t rot_swa = 0;
  std::int64_t window = 0;  ///< n_swa; 0: none slides
  /// The first so many layers have a cache of their own, those after share one (gemma4); -1: all.
  std::int64_t kv_from_start = -1;
  /// Of next-token prediction, the last of `layers`: neither loaded nor run without --spec-type
  /// mtp.
  std::int64_t nextn_layers = 0;

  // Mixtures of experts.
  std::int64_t experts = 0;
  std::int64_t experts_used = 0;
  std::int64_t experts_shared = 0;
  std::int64_t expert_ffn = 0;
  std::int64_t shared_ffn = 0;
  std::int64_t dense_lead = 0;  ///< layers before the first with experts
  std::int64_t expert_groups = 0;
  std::int64_t groups_used = 0;
  Gating gating = Gating::None;
  bool expert_weights_norm = false;
  double expert_weights_scale = 0;

  // Latent attention (deepseek2); 0: none.
  std::int64_t lora_q = 0;
  std::int64_t lora_kv = 0;
  std::int64_t head_k_mla = 0;
  std::int64_t head_v_mla = 0;

  // States of recurrent layers.
  std::int64_t ssm_conv = 0;
  std::int64_t ssm_inner = 0;
  std::int64_t ssm_state = 0;
  std::int64_t ssm_dt_rank = 0;
  std::int64_t ssm_groups = 0;
  std::int64_t shortconv_cache = 0;  ///< lfm2's L_cache

  // Scales and caps: an op more in the graph where they are not 0.
  double attn_softcap = 0;
  double final_softcap = 0;
  double logit_scale = 0;
  double residual_scale = 0;
  double embedding_scale = 0;
  double attention_scale = 0;
  double attention_temperature = 0;  ///< by position (mistral3's f_attn_temp_scale)
  bool multi_rope = false;           ///< positions of several axes (use_mrope)
  std::int64_t embd_per_layer = 0;   ///< gemma4's and gemma3n's per-layer inputs

  /// Layers that are run: n_layer().
  std::int64_t run_layers() const {
    return static_cast<std::int64_t>(layers.size()) - nextn_layers;
  }
  std::int64_t head_k_of(const Layer& layer) const { return layer.sliding ? head_k_swa : head_k; }
  std::int64_t head_v_of(const Layer& layer) const { return layer.sliding ? head_v_swa : head_v; }
  /// Width of all keys of a position: n_embd_k_gqa.
  std::int64_t k_width(const Layer& layer) const { return head_k_of(layer) * layer.kv_heads; }
  std::int64_t v_width(const Layer& layer) const { return head_v_of(layer) * layer.kv_heads; }
  std::int64_t rot_of(const Layer& layer) const { return layer.sliding ? rot_swa : rot; }
  bool latent() const { return head_k_mla != 0; }  ///< is_mla
};

}  // namespace vramfit::llamacpp
