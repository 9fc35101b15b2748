#include "model/transformer/block.h"

#include <utility>

#include "model/transformer/adapted.h"
#include "model/transformer/projection.h"

namespace vramfit {
namespace {

/// Whether backward ends at the projection: nothing is trained before its adapters.
bool ends_at(const Model& model, const Projection& p) {
  return p.layer == 0 && model.adapters.start_at(p.weight);
}

/// x + out(attention(norm1 x)); x: (N, h). The part of the block where tokens meet.
Tensor attention_half(Model& model, int layer, const Sequence& sequence, Tensor x,
                      SavedActivations* saved) {
  Tensor qkv;
  const CodeScales* scales = saved != nullptr ? saved->scales_or_null() : nullptr;
  {
    const bool keeps_statistics = saved != nullptr && !ends_at(model, qkv_of(layer));
    const NormedInput normed(model, norm1_of(layer), qkv_of(layer), {"norm1", layer}, x,
                             keeps_statistics ? &saved->norm1 : nullptr, scales);
    qkv = project(model, qkv_of(layer), {"qkv", layer}, normed.rows(), nullptr, normed.norm(),
                  scales);
  }
  normalize_heads(model, layer, sequence, qkv, saved ? &saved->head_norm : nullptr);

  SavedAttention attention;
  if (sequence.decoding()) {
    attention.out = attend_to_cache(model, layer, sequence, qkv);
  } else {
    rotate(model, qkv, sequence, false);
    attention = attend(model, layer, sequence, qkv, saved != nullptr);
  }
  if (saved == nullptr) {
    qkv.release();
    attention.probabilities.release();
  }
  Tensor middle =
      project(model, out_of(layer), {"middle", layer}, attention.out, &x, nullptr, scales);
  if (saved != nullptr) {
    saved->x = std::move(x);
    saved->qkv = std::move(qkv);
    saved->attention = std::move(attention);
  }
  return middle;
}

/// What an MLP's first half writes.
struct Activated {
  Tensor pre;  ///< (N, 2f) or (N, f)
  Tensor act;  ///< (N, f)
};

/// act(up(norm2 m)): one op, unless adapters come between up and act, or codes are multiplied.
Activated activate(Model& model, int layer, const Tensor& middle, SavedActivations* saved) {
  OpContext& context = model.context;
  const ModelConfig& config = model.config;
  const std::int64_t tokens = middle.shape()[0];
  Activated result;
  const CodeScales* scales = saved != nullptr ? saved->scales_or_null() : nullptr;
  {
    const NormedInput normed(model, norm2_of(layer), up_of(layer), {"norm2", layer}, middle,
                             saved ? &saved->norm2 : nullptr, scales);
    if (scales == nullptr && model.adapters.beside(Role::UpWeight) == nullptr) {
      result.pre = context.activation({"pre", layer}, {tokens, config.up_width()});
      result.act = context.activation({"act", layer}, {tokens, config.ffn});
      QuantizedInput input(model, up_of(layer), normed.rows());
      context.device.run(
          MlpUpForward{config.activation, input.rows(), model.weights.value(Role::UpWeight, layer),
                       model.weights.optional_value(Role::UpBias, layer), result.pre, result.act,
                       context.gemm_workspace, input.operands(), normed.norm()});
      return result;
    }
    result.pre =
        project(model, up_of(layer), {"pre", layer}, normed.rows(), nullptr, nullptr, scales);
  }
  result.act = context.activation({"act", layer}, {tokens, config.ffn});
  if (scales == nullptr) {
    context.device.run(Activate{config.activation, result.pre, result.act});
    return result;
  }
  Tensor largest = scales->of(Role::DownWeight, Operand::Input);
  Tensor pre_largest = scales->of_kept();
  context.device.run(Activate{config.activation, result.pre, result.act, &largest, &pre_largest});
  result.pre = kept_codes(context, layer, result.pre, *scales);
  return result;
}

/// m + down(act(up(norm2 m))); m: (N, h). The part of the block that sees one token at a time.
Tensor mlp_half(Model& model, int layer, Tensor middle, SavedActivations* saved) {
  auto [pre, act] = activate(model, layer, middle, saved);
  if (saved == nullptr) pre.release();
  Tensor next = project(model, down_of(layer), {"x", layer + 1}, act, &middle, nullptr,
                        saved != nullptr ? saved->scales_or_null() : nullptr);
  if (saved != nullptr) {
    saved->middle = std::move(middle);
    saved->pre = std::move(pre);
  }
  return next;
}

/// What the activation is computed from, once more.
Tensor pre_again(Model& model, int layer, SavedActivations& saved) {
  const Tensor normed =
      normalize(model, norm2_of(layer), {"norm2", layer}, saved.middle, &saved.norm2);
  Tensor pre = project(model, up_of(layer), {"pre", layer}, normed, nullptr, nullptr,
                       saved.scales_or_null());
  return saved.scales ? kept_codes(model.context, layer, pre, saved.scales) : std::move(pre);
}

/// From the gradient of act to act itself, and from what is saved of pre to its gradient.
void activate_backward(Model& model, int layer, SavedActivations& saved, Tensor& act) {
  OpContext& context = model.context;
  const ActivationKind kind = model.config.activation;
  if (!saved.scales) return context.device.run(ActivateBackward{kind, saved.pre, act});
  const Tensor codes = std::move(saved.pre);
  const Tensor codes_scale = saved.scales.of_kept();
  Tensor largest = saved.scales.of(Role::UpWeight, Operand::OutputGradient);
  saved.pre = context.activation({"pre", layer}, codes.shape());
  context.device.run(ActivateBackward{kind, saved.pre, act, &largest, &codes, &codes_scale});
}

/// The last of backward. x: (N, in), dy: (N, out).
void end_backward(Model& model, const Projection& p, const Tensor& x, const Tensor& dy) {
  const Tensor du = adapters_backward_input(model, p, dy, nullptr);
  adapters_backward_weight(model, p, x, dy, du);
}

/// Returns whether backward goes on.
bool mlp_half_backward(Model& model, int layer, SavedActivations& saved, Tensor& dx) {
  OpContext& context = model.context;
  const ModelConfig& config = model.config;
  if (ends_at(model, down_of(layer))) {
    Tensor act = context.activation({"act", layer}, {dx.shape()[0], config.ffn});
    context.device.run(Activate{config.activation, saved.pre, act});
    end_backward(model, down_of(layer), act, dx);
    return false;
  }
  {
    auto [act, passed] =
        project_backward_input(model, down_of(layer), {"act", layer}, dx, saved.scales);
    activate_backward(model, layer, saved, act);
    project_backward_weight(model, down_of(layer), act, dx, passed, saved.scales);
  }
  const Tensor dpre = std::move(saved.pre);
  if (ends_at(model, up_of(layer))) {
    dx.release();
    const Tensor normed =
        normalize(model, norm2_of(layer), {"norm2", layer}, saved.middle, nullptr);
    saved.middle.release();
    end_backward(model, up_of(layer), normed, dpre);
    return false;
  }
  auto [normed, passed] =
      project_backward_input(model, up_of(layer), {"norm2", layer}, dpre, saved.scales);
  normalize_backward(model, norm2_of(layer), std::move(saved.middle), std::move(saved.norm2),
                     normed, dx, true);
  project_backward_weight(model, up_of(layer), normed, dpre, passed, saved.scales);
  return true;
}

void attention_half_backward(Model& model, int layer, const Sequence& sequence,
                             SavedActivations& saved, Tensor& dx) {
  if (ends_at(model, out_of(layer))) {
    return end_backward(model, out_of(layer), saved.attention.out, dx);
  }
  auto [dout, passed_out] =
      project_backward_input(model, out_of(layer), {"d_attention", layer}, dx, saved.scales);
  project_backward_weight(model, out_of(layer), saved.attention.out, dx, passed_out, saved.scales);
  passed_out = {};
  const bool last = ends_at(model, qkv_of(layer));
  if (last) dx.release();
  Tensor dqkv = attend_backward(model, layer, sequence, std::move(saved.qkv),
                                std::move(saved.attention), std::move(dout));
  normalize_heads_backward(model, layer, sequence, std::move(saved.head_norm), dqkv);
  if (last) {
    const Tensor normed = normalize(model, norm1_of(layer), {"norm1", layer}, saved.x, nullptr);
    saved.x.release();
    return end_backward(model, qkv_of(layer), normed, dqkv);
  }
  auto [normed, passed] =
      project_backward_input(model, qkv_of(layer), {"norm1", layer}, dqkv, saved.scales);
  normalize_backward(model, norm1_of(layer), std::move(saved.x), std::move(saved.norm1), normed, dx,
                     true);
  project_backward_weight(model, qkv_of(layer), normed, dqkv, passed, saved.scales);
}

}  // namespace

Tensor block_forward(Model& model, int layer, const Sequence& sequence, Tensor x,
                     SavedActivations* saved) {
  if (saved != nullptr && model.context.precisions.multiplies_codes()) {
    saved->scales = CodeScales(model.context, layer);
  }
  Tensor middle = attention_half(model, layer, sequence, std::move(x), saved);
  return mlp_half(model, layer, std::move(middle), saved);
}

void forget(SavedActivations& saved, Checkpoint checkpoint) {
  if (checkpoint == Checkpoint::None) return;
  saved.pre.release();
  saved.norm2 = {};
  if (checkpoint == Checkpoint::Selective) return;
  Tensor x = std::move(saved.x);
  CodeScales scales = std::move(saved.scales);
  saved = {};
  saved.x = std::move(x);
  saved.scales = std::move(scales);
}

void recompute(Model& model, int layer, const Sequence& sequence, SavedActivations& saved) {
  if (!saved.middle) {
    saved.middle = attention_half(model, layer, sequence, std::move(saved.x), &saved);
  }
  if (!saved.pre) saved.pre = pre_again(model, layer, saved);
}

void block_backward(Model& model, int layer, const Sequence& sequence, SavedActivations saved,
                    Tensor& dx, const std::function<void()>& mlp_passed) {
  const bool goes_on = mlp_half_backward(model, layer, saved, dx);
  mlp_passed();
  if (!goes_on) return;
  attention_half_backward(model, layer, sequence, saved, dx);
}

}  // namespace vramfit
