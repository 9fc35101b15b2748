#include "runtimes/pytorch/torch/ops/cat.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/transformers/modules/families/rows.h"
#include "runtimes/pytorch/transformers/modules/locals.h"

namespace vramfit::pytorch {
namespace {

/// transformers/models/phi/modeling_phi.py, 5.17: attention and MLP beside each other, one norm.
class PhiLayer final : public DecoderLayer {
 public:
  PhiLayer(Context& context, const Family& family, const ModelConfig& c, const ModelSettings& s)
      : head_dim_(c.head_dim),
        residual_dropout_(c.dropout.residual),
        training_(s.training),
        activation_(activation_of(c)),
        attention_(attention_settings(c, s)),
        q_proj_(context, c.hidden, c.q_width(), true, s.type),
        k_proj_(context, c.hidden, c.kv_width(), true, s.type),
        v_proj_(context, c.hidden, c.kv_width(), true, s.type),
        dense_(context, c.q_width(), c.hidden, true, s.type) {
    if (c.qk_norm != QkNorm::None) {
      q_layernorm_.emplace(context, Norm::Kind::LayerNorm, c.head_dim, s.type);
      k_layernorm_.emplace(context, Norm::Kind::LayerNorm, c.head_dim, s.type);
    }
    fc1_ = Linear(context, c.hidden, c.ffn, true, s.type);
    fc2_ = Linear(context, c.ffn, c.hidden, true, s.type);
    input_layernorm_ = Norm(context, family.norm, c.hidden, s.type);
  }

  Tensor forward(const Tensor& residual, const LayerInputs& inputs) const override {
    Tensor hidden = input_layernorm_(residual);
    Attended attended = self_attention(hidden, inputs);
    Tensor attention_output = std::move(attended.output);
    attention_output = dropout(attention_output, residual_dropout_, training_);
    Tensor feed_forward = mlp(hidden);
    feed_forward = dropout(feed_forward, residual_dropout_, training_);
    Tensor sum = add(attention_output, feed_forward);
    Tensor result = add(sum, residual);
    drop({&sum, &hidden, &attention_output, &attended.weights, &feed_forward});
    return result;
  }

  std::vector<Child> children() override {
    std::vector<Child> all = {{"self_attn.q_proj", &q_proj_},
                              {"self_attn.k_proj", &k_proj_},
                              {"self_attn.v_proj", &v_proj_},
                              {"self_attn.dense", &dense_, LinearInput::Attended}};
    if (q_layernorm_) {
      all.push_back({"self_attn.q_layernorm", &*q_layernorm_});
      all.push_back({"self_attn.k_layernorm", &*k_layernorm_});
    }
    all.push_back({"mlp.fc1", &fc1_});
    all.push_back({"mlp.fc2", &fc2_, LinearInput::Hidden});
    all.push_back({"input_layernorm", &input_layernorm_});
    return all;
  }

 private:
  Attended self_attention(const Tensor& hidden, const LayerInputs& inputs) const {
    Tensor query = split_heads(q_proj_(hidden), head_dim_);
    Tensor key = split_heads(k_proj_(hidden), head_dim_);
    Tensor value = split_heads(v_proj_(hidden), head_dim_);
    if (q_layernorm_) query = (*q_layernorm_)(query);
    if (k_layernorm_) key = (*k_layernorm_)(key);
    // Partial rotation: the rotated dimensions first, the others put behind them again. Here rather
    // than in a function, as in gpt_neox: its parts live until attention is done.
    const std::int64_t rotated = inputs.positions.cos.size(-1);
    Tensor query_rot = slice(query, -1, rotated);
    Tensor query_pass = slice(query, -1, head_dim_ - rotated);
    Tensor key_rot = slice(key, -1, rotated);
    Tensor key_pass = slice(key, -1, head_dim_ - rotated);
    apply_rotary(query_rot, key_rot, inputs.positions);
    query = cat(query_rot, query_pass, -1);
    key = cat(key_rot, key_pass, -1);
    if (inputs.cache != nullptr) inputs.cache->update(key, value, inputs.index);
    Attended attended = attend(attention_, query, key, value, inputs.mask);
    attended.output = dense_(attended.output);
    drop({&query, &key, &value, &query_rot, &query_pass, &key_rot, &key_pass});
    return attended;
  }

  Tensor mlp(const Tensor& x) const {
    Tensor hidden = fc1_(x);
    hidden = activate(activation_, hidden);
    return fc2_(hidden);
  }

  std::int64_t head_dim_;
  double residual_dropout_;
  bool training_;
  Activation activation_;
  AttentionSettings attention_;
  Linear q_proj_, k_proj_, v_proj_, dense_;
  std::optional<Norm> q_layernorm_, k_layernorm_;
  Linear fc1_, fc2_;
  Norm input_layernorm_;
};

constexpr const char* kPhiProjections[] = {"q_proj", "k_proj", "v_proj", "dense", "fc1", "fc2"};
constexpr const char* kPhiLoraTargets[] = {"q_proj", "v_proj", "fc1", "fc2"};

}  // namespace

const Family kPhi = {
    .model_type = "phi",
    .norm = Norm::Kind::LayerNorm,
    .make_layer = make_layer<PhiLayer>,
    .projections = kPhiProjections,
    .lora_targets = kPhiLoraTargets,
    .parts = {.norm = "final_layernorm"},
    .norm_before_rotary = false,
};

}  // namespace vramfit::pytorch
