#include "runtimes/llamacpp/graphs/weights.h"

#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "model/errors.h"

namespace vramfit::llamacpp {
namespace {

using ggml::BackendId;
using ggml::Tensor;

using LayerMember = Tensor* LayerWeights::*;
using ModelMember = Tensor* Weights::*;

// By their names in a file (llama-arch.cpp), behind "blk.N.".
const std::unordered_map<std::string_view, LayerMember>& layer_tensors() {
  using L = LayerWeights;
  static const std::unordered_map<std::string_view, LayerMember> tensors = {
      {"attn_norm.weight", &L::attn_norm},
      {"attn_norm.bias", &L::attn_norm_b},
      {"attn_norm_2.weight", &L::attn_norm_2},
      {"attn_norm_2.bias", &L::attn_norm_2_b},
      {"post_attention_norm.weight", &L::attn_post_norm},
      {"attn_q.weight", &L::wq},
      {"attn_q.bias", &L::wq_b},
      {"attn_q.scale", &L::wq_s},
      {"attn_k.weight", &L::wk},
      {"attn_k.bias", &L::wk_b},
      {"attn_k.scale", &L::wk_s},
      {"attn_v.weight", &L::wv},
      {"attn_v.bias", &L::wv_b},
      {"attn_v.scale", &L::wv_s},
      {"attn_qkv.weight", &L::wqkv},
      {"attn_qkv.bias", &L::wqkv_b},
      {"attn_qkv.scale", &L::wqkv_s},
      {"attn_gate.weight", &L::wqkv_gate},
      {"attn_output.weight", &L::wo},
      {"attn_output.bias", &L::wo_b},
      {"attn_output.scale", &L::wo_s},
      {"attn_q_norm.weight", &L::attn_q_norm},
      {"attn_k_norm.weight", &L::attn_k_norm},
      {"attn_sinks.weight", &L::attn_sinks},
      {"rope_freqs.weight", &L::rope_factors},
      {"ffn_norm.weight", &L::ffn_norm},
      {"ffn_norm.bias", &L::ffn_norm_b},
      {"post_ffw_norm.weight", &L::ffn_post_norm},
      {"ffn_up.weight", &L::ffn_up},
      {"ffn_up.bias", &L::ffn_up_b},
      {"ffn_up.scale", &L::ffn_up_s},
      {"ffn_gate.weight", &L::ffn_gate},
      {"ffn_gate.bias", &L::ffn_gate_b},
      {"ffn_gate.scale", &L::ffn_gate_s},
      {"ffn_down.weight", &L::ffn_down},
      {"ffn_down.bias", &L::ffn_down_b},
      {"ffn_down.scale", &L::ffn_down_s},
      {"ffn_gate_inp.weight", &L::ffn_gate_inp},
      {"ffn_gate_inp.bias", &L::ffn_gate_inp_b},
      {"ffn_gate_inp.scale", &L::ffn_gate_inp_s},
      {"exp_probs_b.bias", &L::ffn_exp_probs_b},
      {"ffn_up_exps.weight", &L::ffn_up_exps},
      {"ffn_up_exps.bias", &L::ffn_up_exps_b},
      {"ffn_up_exps.scale", &L::ffn_up_exps_s},
      {"ffn_gate_exps.weight", &L::ffn_gate_exps},
      {"ffn_gate_exps.bias", &L::ffn_gate_exps_b},
      {"ffn_gate_exps.scale", &L::ffn_gate_exps_s},
      {"ffn_gate_up_exps.weight", &L::ffn_gate_up_exps},
      {"ffn_down_exps.weight", &L::ffn_down_exps},
      {"ffn_down_exps.bias", &L::ffn_down_exps_b},
      {"ffn_down_exps.scale", &L::ffn_down_exps_s},
      {"ffn_up_shexp.weight", &L::ffn_up_shexp},
      {"ffn_up_shexp.scale", &L::ffn_up_shexp_s},
      {"ffn_gate_shexp.weight", &L::ffn_gate_shexp},
      {"ffn_gate_shexp.scale", &L::ffn_gate_shexp_s},
      {"ffn_down_shexp.weight", &L::ffn_down_shexp},
      {"ffn_down_shexp.scale", &L::ffn_down_shexp_s},
      {"ffn_gate_inp_shexp.weight", &L::ffn_gate_inp_shexp},
      {"attn_q_a.weight", &L::wq_a},
      {"attn_q_b.weight", &L::wq_b_proj},
      {"attn_q_a_norm.weight", &L::attn_q_a_norm},
      {"attn_kv_a_mqa.weight", &L::wkv_a_mqa},
      {"attn_kv_a_norm.weight", &L::attn_kv_a_norm},
      {"attn_kv_b.weight", &L::wkv_b},
      {"attn_k_b.weight", &L::wk_b_proj},
      {"attn_v_b.weight", &L::wv_b_proj},
      {"shortconv.conv.weight", &L::shortconv_conv},
      {"shortconv.in_proj.weight", &L::shortconv_in},
      {"shortconv.out_proj.weight", &L::shortconv_out},
      {"ssm_in.weight", &L::ssm_in},
      {"ssm_conv1d.weight", &L::ssm_conv1d},
      {"ssm_dt.bias", &L::ssm_dt},
      {"ssm_a", &L::ssm_a},
      {"ssm_ba.weight", &L::ssm_beta_alpha},
      {"ssm_norm.weight", &L::ssm_norm},
      {"ssm_out.weight", &L::ssm_out},
      {"pre_ffw_norm_2.weight", &L::ffn_pre_norm_2},
      {"post_ffw_norm_1.weight", &L::ffn_post_norm_1},
      {"post_ffw_norm_2.weight", &L::ffn_post_norm_2},
      {"inp_gate.weight", &L::per_layer_inp_gate},
      {"proj.weight", &L::per_layer_proj},
      {"post_norm.weight", &L::per_layer_post_norm},
      {"layer_output_scale.weight", &L::out_scale},
  };
  return tensors;
}

const std::unordered_map<std::string_view, ModelMember>& model_tensors() {
  static const std::unordered_map<std::string_view, ModelMember> tensors = {
      {"token_embd.weight", &Weights::token_embd},
      {"output_norm.weight", &Weights::output_norm},
      {"token_embd_norm.weight", &Weights::output_norm},  // lfm2's name for it
      {"output_norm.bias", &Weights::output_norm_b},
      {"output.weight", &Weights::output},
      {"output.bias", &Weights::output_b},
      {"output.scale", &Weights::output_s},
      {"per_layer_token_embd.weight", &Weights::per_layer_token_embd},
      {"per_layer_model_proj.weight", &Weights::per_layer_model_proj},
      {"per_layer_proj_norm.weight", &Weights::per_layer_proj_norm},
  };
  return tensors;
}

/// "blk.12.attn_q.weight" as 12 and what follows.
struct InLayer {
  std::size_t layer;
  std::string_view rest;
};

std::optional<InLayer> in_layer(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (name.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  InLayer found{};
  const auto read = std::from_chars(name.data(), name.data() + name.size(), found.layer);
  const auto digits = static_cast<std::size_t>(read.ptr - name.data());
  if (read.ec != std::errc{} || digits == name.size() || name[digits] != '.') return std::nullopt;
  found.rest = name.substr(digits + 1);
  return found;
}

class WeightBinder {
 public:
  WeightBinder(const Model& model, const Residence& residence, ggml::Ops& ops)
      : model_(model), residence_(residence), ops_(ops) {
    weights_.layers.resize(model.hparams.layers.size());
  }

  Weights bind() {
    const ModelTensor* rope_factors = nullptr;
    const ModelTensor* token_embd = nullptr;
    for (std::size_t i = 0; i < model_.tensors.size(); ++i) {
      const ModelTensor& tensor = model_.tensors[i];
      const BackendId where = residence_.tensors[i];
      if (const auto in = in_layer(tensor.name)) {
        const auto found = layer_tensors().find(in->rest);
        if (found == layer_tensors().end() || in->layer >= weights_.layers.size()) continue;
        weights_.layers[in->layer].*(found->second) = weight(tensor, where);
      } else if (tensor.name == "rope_freqs.weight" || tensor.name == "rope_factors_long.weight" ||
                 tensor.name == "rope_factors_short.weight") {
        rope_factors = &tensor;
      } else if (const auto known = model_tensors().find(tensor.name);
                 known != model_tensors().end()) {
        weights_.*(known->second) = weight(tensor, where);
        if (known->second == &Weights::token_embd) token_embd = &tensor;
      }
    }
    if (rope_factors != nullptr) share_among_layers(*rope_factors);
    require(weights_.token_embd, "token_embd.weight");
    require(weights_.output_norm, "output_norm.weight");
    if (weights_.output == nullptr) tie_head(*token_embd);
    return std::move(weights_);
  }

 private:
  Tensor* weight(const ModelTensor& tensor, BackendId where) {
    Tensor* made = ops_.allocated(ggml::type_of(tensor.type), tensor.ne, where);
    made->weight = true;
    return made;
  }

  // A tied head is the embedding once more, unless they lie in the same place.
  void tie_head(const ModelTensor& embedding) {
    const bool together = weights_.token_embd->buffer == residence_.output;
    weights_.output = together ? weights_.token_embd : weight(embedding, residence_.output);
  }

  // One for all layers of a buffer (TENSOR_DUPLICATED). Of long and short factors, which are alike,
  // one is used.
  void share_among_layers(const ModelTensor& factors) {
    std::map<BackendId, Tensor*> shared;
    for (std::size_t il = 0; il < residence_.rope_factors.size(); ++il) {
      const BackendId where = residence_.rope_factors[il];
      Tensor*& own = shared[where];
      if (own == nullptr) own = weight(factors, where);
      weights_.layers[il].rope_factors = own;
    }
  }

  static void require(const Tensor* tensor, const char* name) {
    if (tensor == nullptr) throw BadInput(std::string("the model has no tensor ") + name);
  }

  const Model& model_;
  const Residence& residence_;
  ggml::Ops& ops_;
  Weights weights_;
};

}  // namespace

Weights bind_weights(const Model& model, const Residence& residence, ggml::Ops& ops) {
  return WeightBinder(model, residence, ops).bind();
}

}  // namespace vramfit::llamacpp
