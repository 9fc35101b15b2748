#include "runtimes/llamacpp/graphs/builder.h"

// Mixtures of experts: build_moe_ffn of llama-graph.cpp.
namespace vramfit::llamacpp {

using ggml::Tensor;

Tensor* GraphBuilder::shared_experts(Tensor* x, std::size_t il, Scales scales) {
  const LayerWeights& w = layer(il);
  return ffn({{w.ffn_up_shexp, nullptr, w.ffn_up_shexp_s},
              {w.ffn_gate_shexp, nullptr, w.ffn_gate_shexp_s},
              {w.ffn_down_shexp, nullptr, w.ffn_down_shexp_s}},
             x, scales);
}

Tensor* GraphBuilder::experts_behind_dense_lead(Tensor* x, std::size_t il) {
  if (il < static_cast<std::size_t>(hparams().dense_lead)) return gated_ffn(x, il);
  const ExpertsOptions options{.gating = hparams().gating,
                               .norm_weights = hparams().expert_weights_norm,
                               .scale = hparams().expert_weights_scale,
                               .with_selection_bias = true};
  Tensor* routed = experts(x, options, il);
  return ops_.add(routed, shared_experts(x, il));
}

// Leaves probabilities of the best groups of experts alone.
Tensor* GraphBuilder::select_groups(Tensor* probabilities) {
  const std::int64_t groups = hparams().expert_groups;
  const std::int64_t in_group = hparams().experts / groups;
  const std::int64_t n = probabilities->ne[1];
  Tensor* grouped = ops_.reshape(probabilities, {in_group, groups, n, 1});

  Tensor* scores = ops_.argsort_top_k(grouped, 2);
  scores = ops_.get_rows(ops_.reshape(grouped, {1, in_group, groups, n}), scores);
  scores = ops_.sum_rows(ops_.reshape(scores, {scores->ne[1], scores->ne[2], scores->ne[3], 1}));
  scores = ops_.reshape(scores, {scores->ne[1], scores->ne[2], 1, 1});
  Tensor* best = ops_.argsort_top_k(scores, hparams().groups_used);

  Tensor* kept = ops_.get_rows(grouped, best);
  kept = ops_.set_rows(ops_.fill(grouped), kept, best);
  return ops_.reshape(kept, {hparams().experts, n, 1, 1});
}

// Which experts a token goes through, [used, tokens], and what their outputs are multiplied by,
// [1, used, tokens].
Tensor* GraphBuilder::expert_weights(Tensor* x, const ExpertsOptions& options, std::size_t il,
                                     Tensor*& selected) {
  const LayerWeights& w = layer(il);
  const std::int64_t n = x->ne[1];
  const std::int64_t used = hparams().experts_used;
  Tensor* logits = options.logits;
  if (logits == nullptr) logits = ops_.mul_mat(w.ffn_gate_inp, x);
  if (w.ffn_gate_inp_b != nullptr) logits = ops_.add(logits, w.ffn_gate_inp_b);

  Tensor* probabilities = logits;
  if (options.gating == Gating::Softmax) probabilities = ops_.soft_max(logits);
  if (options.gating == Gating::Sigmoid) probabilities = ops_.sigmoid(logits);
  Tensor* selection = probabilities;
  if (options.with_selection_bias && w.ffn_exp_probs_b != nullptr) {
    selection = ops_.add(selection, w.ffn_exp_probs_b);
  }
  if (hparams().expert_groups > 1) selection = select_groups(selection);
  selected = ops_.argsort_top_k(selection, used);

  probabilities = ops_.reshape(probabilities, {1, hparams().experts, n, 1});
  Tensor* weights = ops_.get_rows(probabilities, selected);
  const ggml::Shape flat{used, n, 1, 1};
  if (options.gating == Gating::SoftmaxWeight) {
    weights = ops_.reshape(ops_.soft_max(ops_.reshape(weights, flat)), {1, used, n, 1});
  }
  if (options.norm_weights) {
    weights = ops_.reshape(weights, flat);
    weights = ops_.div(weights, ops_.clamp(ops_.sum_rows(weights)));
    weights = ops_.reshape(weights, {1, used, n, 1});
  }
  if (options.scale != 0 && options.scale != 1) weights = ops_.scale(weights);
  expand(weights);
  return weights;
}

Tensor* GraphBuilder::experts(Tensor* x, const ExpertsOptions& options, std::size_t il) {
  const LayerWeights& w = layer(il);
  const std::int64_t n = x->ne[1];
  Tensor* selected = nullptr;
  Tensor* weights = expert_weights(x, options, il, selected);
  x = ops_.reshape(x, {x->ne[0], 1, n, 1});

  const auto product_of = [&](Tensor* weight, Tensor* scale, Tensor* bias, Tensor* of) {
    Tensor* y = ops_.mul_mat_id(weight, of, selected);
    if (options.scales == Scales::Used && scale != nullptr) y = scale_experts(y, scale, selected);
    return bias == nullptr ? y : ops_.add_id(y, bias, selected);
  };
  Tensor* up = nullptr;
  Tensor* gate = nullptr;
  if (w.ffn_gate_up_exps != nullptr) {
    Tensor* both = product_of(w.ffn_gate_up_exps, w.ffn_up_exps_s, nullptr, x);
    const ggml::Shape half{both->ne[0] / 2, both->ne[1], both->ne[2], 1};
    const std::uint64_t whole = both->nb[2] * static_cast<std::uint64_t>(both->ne[2]);
    const std::array<std::uint64_t, 3> strides{both->nb[1], both->nb[2], whole};
    gate = ops_.view(both, half, strides, 0);
    up = ops_.view(both, half, strides, both->type.row_size(half[0]));
  } else {
    up = product_of(w.ffn_up_exps, w.ffn_up_exps_s, w.ffn_up_exps_b, x);
    gate = product_of(w.ffn_gate_exps, w.ffn_gate_exps_s, w.ffn_gate_exps_b, x);
  }
  Tensor* out =
      product_of(w.ffn_down_exps, w.ffn_down_exps_s, w.ffn_down_exps_b, ops_.glu_split(gate, up));
  out = ops_.mul(out, weights);
  expand(out);
  return sum_of_experts(out);
}

// build_lora_mm_id's scale: one an expert.
Tensor* GraphBuilder::scale_experts(Tensor* x, Tensor* scales, Tensor* selected) {
  const std::int64_t count = scales->ne[0];
  const std::int64_t n = x->ne[2];
  Tensor* each = ops_.repeat(ops_.reshape(scales, {1, count, 1, 1}), {1, count, n, 1});
  return ops_.mul(x, ops_.get_rows(each, selected));
}

// Views of each expert's rows, before any of their sums.
Tensor* GraphBuilder::sum_of_experts(Tensor* experts) {
  const std::int64_t used = experts->ne[1];
  std::vector<Tensor*> views;
  for (std::int64_t i = 0; i < used; ++i) {
    views.push_back(ops_.view_2d(experts, experts->ne[0], experts->ne[2], experts->nb[2],
                                 static_cast<std::uint64_t>(i) * experts->nb[1]));
    expand(views.back());
  }
  Tensor* sum = views.at(0);
  for (std::size_t i = 1; i < views.size(); ++i) {
    sum = ops_.add(sum, views[i]);
    expand(sum);
  }
  return used == 1 ? ops_.cont(sum) : sum;
}

}  // namespace vramfit::llamacpp
