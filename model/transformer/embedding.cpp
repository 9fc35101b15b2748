#include "model/transformer/embedding.h"

namespace vramfit {

Tensor embed(Model& model, const Tensor& tokens, const Tensor* starts) {
  OpContext& context = model.context;
  Tensor x = context.activation({"x", 0}, {tokens.shape().elements(), model.config.hidden});
  context.device.run(EmbeddingForward{tokens, model.weights.value(Role::TokenEmbedding),
                                      model.weights.optional_value(Role::PositionEmbedding), starts,
                                      x});
  return x;
}

void embed_backward(Model& model, const Tensor& tokens, const Tensor& dx) {
  OpContext& context = model.context;
  if (!model.weights.trains(Role::TokenEmbedding)) return;
  const GradientTarget dtable = model.weights.gradient(context, Role::TokenEmbedding);
  Tensor* dpositions = nullptr;
  bool accumulate_positions = false;
  if (model.config.learned_positions()) {
    const GradientTarget target = model.weights.gradient(context, Role::PositionEmbedding);
    dpositions = &target.tensor;
    accumulate_positions = target.accumulate;
  }
  Tensor workspace = context.bytes(
      "embedding_workspace",
      embedding_backward_workspace_bytes(tokens.shape().elements(), model.config.vocab));
  context.device.run(EmbeddingBackward{tokens, dx, dtable.tensor, dtable.accumulate, dpositions,
                                       accumulate_positions, workspace});
}

}  // namespace vramfit
