#include "model/errors.h"
#include "runtimes/pytorch/torch/aten/ops.h"
#include "runtimes/pytorch/torch/ops/attention.h"
#include "runtimes/pytorch/torch/ops/embedding.h"
#include "runtimes/pytorch/torch/ops/loss.h"
#include "runtimes/pytorch/torch/ops/normalization.h"
#include "runtimes/pytorch/torch/ops/view.h"

namespace vramfit::pytorch::aten {
namespace {

Results embedding_op(const Call& call) { return {embedding(call.tensor(0), call.tensor(1))}; }

/// (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
Results attention(const Call& call) {
  SdpaOptions options;
  options.mask = call.tensor(3);
  options.dropout = call.real(4);
  options.causal = call.flag(5);
  options.grouped = call.flag(7) && call.tensor(0).size(1) != call.tensor(1).size(1);
  return {scaled_dot_product_attention(call.tensor(0), call.tensor(1), call.tensor(2), options)};
}

/// (self, dim, dtype)
template <Tensor (*kOp)(const Tensor&, std::optional<ScalarType>)>
Results softmax_op(const Call& call) {
  const std::optional<ScalarType> type = call.type(2);
  if (type && type != ScalarType::Float && type != call.tensor(0).type()) {
    throw BadInput("a softmax in a third type is not predicted yet");
  }
  return {kOp(call.tensor(0), type)};
}

/// (input, normalized_shape, weight, bias)
Results layer_norm_op(const Call& call) {
  if (call.dims(1).rank() != 1) {
    throw BadInput("a layer norm over several dimensions is not predicted yet");
  }
  return {layer_norm(call.tensor(0), call.tensor(2), call.tensor(3))};
}

/// (self, target, weight, reduction, ignore_index, label_smoothing)
template <Tensor (*kLoss)(const Tensor&, const Tensor&, bool)>
Results loss(const Call& call) {
  constexpr std::int64_t kNone = 0;
  if (call.tensor(0).rank() != 2 || call.is_tensor(2) || call.real(5) != 0) {
    throw BadInput("a loss other than of rows, with weights or smoothed, is not predicted yet");
  }
  return {kLoss(call.tensor(0), call.tensor(1), call.integer(3, 1) != kNone)};
}

constexpr NamedOp kNetworkOps[] = {
    {"embedding", embedding_op},          {"scaled_dot_product_attention", attention},
    {"softmax.int", softmax_op<softmax>}, {"log_softmax.int", softmax_op<log_softmax>},
    {"layer_norm", layer_norm_op},        {"cross_entropy_loss", loss<cross_entropy_loss>},
    {"nll_loss_nd", loss<nll_loss>},
};

}  // namespace

std::span<const NamedOp> network_ops() { return kNetworkOps; }

}  // namespace vramfit::pytorch::aten
