#include "runtimes/llamacpp/graphs/builder.h"

// States of recurrent layers: build_rs of llama-graph.cpp.
namespace vramfit::llamacpp {

using ggml::Tensor;

StateInputs GraphBuilder::state_inputs() {
  const std::int64_t all = model_.params.sequences;
  Tensor* from = ops_.input(ggml::kI32, {all, 1, 1, 1});
  StateInputs inputs;
  inputs.own = ops_.view_1d(from, shape_.sequences, 0);
  inputs.others = ops_.view_1d(from, all - shape_.sequences, ggml::kI32.row_size(shape_.sequences));
  return inputs;
}

Tensor* GraphBuilder::state(const StateInputs& inputs, Tensor* states, std::int64_t size) {
  Tensor* rows = ops_.reshape(states, {size, states->ne[1], 1, 1});
  expand(ops_.scale_inplace(ops_.view_1d(rows, size, 0)));  // one that starts anew
  Tensor* own = ops_.get_rows(rows, inputs.own);
  expand(own);
  Tensor* others = ops_.get_rows(rows, inputs.others);
  expand(
      ops_.cpy(others, ops_.view_2d(states, size, others->ne[1], states->nb[1],
                                    static_cast<std::uint64_t>(shape_.sequences) * states->nb[1])));
  return own;
}

}  // namespace vramfit::llamacpp
