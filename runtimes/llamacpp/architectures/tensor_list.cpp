#include "runtimes/llamacpp/architectures/tensor_list.h"

#include <algorithm>

namespace vramfit::llamacpp {

void TensorList::add(const std::string& name, std::initializer_list<std::int64_t> ne) {
  ModelTensor tensor{name, {1, 1, 1, 1}, DType::Fp32};
  std::copy(ne.begin(), ne.end(), tensor.ne.begin());
  tensors_.push_back(std::move(tensor));
}

void TensorList::add(std::size_t layer, const std::string& name,
                     std::initializer_list<std::int64_t> ne) {
  add("blk." + std::to_string(layer) + "." + name, ne);
}

void TensorList::linear(std::size_t layer, const std::string& name, std::int64_t in,
                        std::int64_t out, Bias bias) {
  add(layer, name + ".weight", {in, out});
  if (bias == Bias::Yes) add(layer, name + ".bias", {out});
}

void TensorList::ends(bool tied) {
  add("token_embd.weight", {h_.embd, h_.vocab});
  add("output_norm.weight", {h_.embd});
  if (!tied) add("output.weight", {h_.embd, h_.vocab});
}

void TensorList::qkv(std::size_t layer, Bias bias) {
  const Layer& of = h_.layers[layer];
  const std::int64_t q = h_.head_k_of(of) * of.heads;
  linear(layer, "attn_q", h_.embd, q);
  linear(layer, "attn_k", h_.embd, h_.k_width(of));
  linear(layer, "attn_v", h_.embd, h_.v_width(of));
  if (bias == Bias::No) return;
  add(layer, "attn_q.bias", {q});
  add(layer, "attn_k.bias", {h_.k_width(of)});
  add(layer, "attn_v.bias", {h_.v_width(of)});
}

void TensorList::attention_output(std::size_t layer, Bias bias) {
  const Layer& of = h_.layers[layer];
  linear(layer, "attn_output", h_.head_v_of(of) * of.heads, h_.embd, bias);
}

void TensorList::qk_norms(std::size_t layer) {
  const std::int64_t head = h_.head_k_of(h_.layers[layer]);
  norm(layer, "attn_q_norm", head);
  norm(layer, "attn_k_norm", head);
}

void TensorList::gated_ffn(std::size_t layer, std::int64_t ffn, Bias bias) {
  linear(layer, "ffn_gate", h_.embd, ffn, bias);
  linear(layer, "ffn_up", h_.embd, ffn, bias);
  linear(layer, "ffn_down", ffn, h_.embd, bias);
}

void TensorList::experts(std::size_t layer, std::int64_t ffn) {
  linear(layer, "ffn_gate_inp", h_.embd, h_.experts);
  add(layer, "ffn_gate_exps.weight", {h_.embd, ffn, h_.experts});
  add(layer, "ffn_up_exps.weight", {h_.embd, ffn, h_.experts});
  add(layer, "ffn_down_exps.weight", {ffn, h_.embd, h_.experts});
}

void TensorList::shared_experts(std::size_t layer, std::int64_t ffn) {
  linear(layer, "ffn_gate_shexp", h_.embd, ffn);
  linear(layer, "ffn_up_shexp", h_.embd, ffn);
  linear(layer, "ffn_down_shexp", ffn, h_.embd);
}

void TensorList::nextn(std::size_t layer) {
  linear(layer, "nextn.eh_proj", 2 * h_.embd, h_.embd);
  norm(layer, "nextn.enorm");
  norm(layer, "nextn.hnorm");
}

}  // namespace vramfit::llamacpp
