#include "runtimes/pytorch/torch/aten/ops.h"
#include "runtimes/pytorch/torch/ops/attention.h"
#include "runtimes/pytorch/torch/ops/embedding.h"
#include "runtimes/pytorch/torch/ops/loss.h"
#include "runtimes/pytorch/torch/ops/normalization.h"

namespace vramfit::pytorch::aten {
namespace {

Results embedding_op(const Call& call) { return {embedding(call.tensor(0), call.tensor(1))}; }

/// (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
Results attention(const Call& call) {
  SdpaOptions options;
  options.mask = call.tensor(3);
  options.dropout = call.real(4);
  options.causal = call.flag(5);
  options.grouped = call.flag(7);
  return {scaled_dot_product_attention(call.tensor(0), call.tensor(1), call.tensor(2), options)};
}

Results softmax_op(const Call& call) {
  return {softmax(call.tensor(0), call.type(2) == ScalarType::Float)};
}

Results layer_norm_op(const Call& call) {
  return {layer_norm(call.tensor(0), call.tensor(2), call.tensor(3))};
}

Results cross_entropy(const Call& call) {
  return {cross_entropy_loss(call.tensor(0), call.tensor(1))};
}

constexpr NamedOp kNetworkOps[] = {
    {"embedding.default", embedding_op},
    {"scaled_dot_product_attention.default", attention},
    {"softmax.int", softmax_op},
    {"layer_norm.default", layer_norm_op},
    {"cross_entropy_loss.default", cross_entropy},
};

}  // namespace

std::span<const NamedOp> network_ops() { return kNetworkOps; }

}  // namespace vramfit::pytorch::aten
