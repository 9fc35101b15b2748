#include "model/transformer/embedding.h"

namespace vramfit {

Tensor embed(Model& model, const Tensor& tokens, std::int64_t first_position) {
  Runtime& rt = model.runtime;
  Tensor x = rt.activation({"x", 0}, {tokens.shape().elements(), model.config.hidden});
  rt.device.run(EmbeddingForward{tokens, model.weights.value(Role::TokenEmbedding),
                                 model.weights.optional_value(Role::PositionEmbedding),
                                 first_position, x});
  return x;
}

void embed_backward(Model& model, const Tensor& tokens, const Tensor& dx) {
  Runtime& rt = model.runtime;
  const GradientTarget dtable = model.weights.gradient(rt, Role::TokenEmbedding);
  Tensor* dpositions = nullptr;
  bool accumulate_positions = false;
  if (model.config.learned_positions()) {
    const GradientTarget target = model.weights.gradient(rt, Role::PositionEmbedding);
    dpositions = &target.tensor;
    accumulate_positions = target.accumulate;
  }
  Tensor workspace =
      rt.bytes("embedding_workspace",
               embedding_backward_workspace_bytes(tokens.shape().elements(), model.config.vocab));
  rt.device.run(EmbeddingBackward{tokens, dx, dtable.tensor, dtable.accumulate, dpositions,
                                  accumulate_positions, workspace});
}

}  // namespace vramfit
