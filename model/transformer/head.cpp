#include "model/transformer/head.h"

#include "model/transformer/norm.h"
#include "model/transformer/projection.h"

namespace vramfit {

void head_loss(Model& model, Tensor& hidden, const Tensor& targets, float loss_weight,
               const Tensor* scaler, Tensor& loss) {
  OpContext& context = model.context;
  const Role role = model.weights.head_role();
  const Tensor& weight = model.weights.value(role);
  const std::int64_t tokens = hidden.shape()[0];
  const std::int64_t chunk = head_chunk_tokens(tokens, weight.stored()[0], hidden.format());
  Tensor* dweight = nullptr;
  bool accumulate = false;
  if (model.weights.trains(role)) {
    const GradientTarget target = model.weights.gradient(context, role);
    dweight = &target.tensor;
    accumulate = target.accumulate;
  }
  Tensor logits = Tensor(context.ledger, "logits", Category::Workspace, hidden.format(),
                         {chunk, weight.stored()[0]});
  Tensor sum;
  if (dweight != nullptr && is_16_bit(dweight->format()) && chunk < tokens)
    sum = context.scratch("head_gradient", weight.stored());
  context.device.run(HeadLoss{hidden, weight, targets, chunk, loss_weight, scaler, loss, dweight,
                              accumulate, logits, sum ? &sum : nullptr, context.gemm_workspace});
}

Tensor last_logits(Model& model, Tensor x, std::int64_t batch, std::int64_t seq,
                   const Tensor* counts) {
  OpContext& context = model.context;
  Tensor last = context.activation("last_token", {batch, model.config.hidden});
  context.device.run(LastToken{x, seq, counts, last});
  x.release();
  const Projection head = head_of(model.weights);
  const NormedInput normed(model, final_norm(), head, "final_norm", last, nullptr);
  return project(model, head, "logits", normed.rows(), nullptr, normed.norm());
}

}  // namespace vramfit
