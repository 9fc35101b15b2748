#include "runtimes/pytorch/transformers/optimizers/bitsandbytes_adamw.h"

#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

constexpr std::int64_t kStateBlock = 256;
constexpr std::int64_t kStateCodes = 256;
constexpr std::int64_t kLeastInEightBits = 4096;  ///< elements: min_8bit_size
constexpr std::int64_t kLeastPaged = 100000;      ///< elements: get_state_buffer

Tensor kept(Context& context, std::int64_t count) {
  return empty(context, {count}, ScalarType::Float, Category::OptimizerState);
}

}  // namespace

void BitsandbytesAdamW::step() {
  if (!states_.empty()) return;
  for (const Tensor& parameter : parameters_) {
    const LayerScope acts(parameter);
    init_state(parameter);
  }
}

void BitsandbytesAdamW::init_state(const Tensor& parameter) {
  Context& context = parameter.context();
  State& state = states_.emplace_back();
  const bool in_eight_bits = kind_.bits == 8 && parameter.numel() >= kLeastInEightBits;
  if (!in_eight_bits) {
    state.state1 = state_buffer(parameter, ScalarType::Float);
    state.state2 = state_buffer(parameter, ScalarType::Float);
    return;
  }
  fill_qmap(context);
  state.state1 = state_buffer(parameter, ScalarType::Byte);
  state.state2 = state_buffer(parameter, ScalarType::Byte);
  const std::int64_t blocks = (parameter.numel() + kStateBlock - 1) / kStateBlock;
  state.absmax1 = kept(context, blocks);
  state.absmax2 = kept(context, blocks);
}

Tensor BitsandbytesAdamW::state_buffer(const Tensor& parameter, ScalarType type) const {
  if (!kind_.paged || parameter.numel() < kLeastPaged) return state_like(parameter, type);
  parameter.context().libraries.use_managed(
      static_cast<std::uint64_t>(parameter.numel() * element_size(type)));
  return {};  // cudaMallocManaged's, which the allocator knows nothing of
}

void BitsandbytesAdamW::fill_qmap(Context& context) {
  if (dynamic_.defined()) return;
  const LayerScope acts(context, kNoLayer);
  dynamic_ = kept(context, kStateCodes);
  udynamic_ = kept(context, kStateCodes);
}

}  // namespace vramfit::pytorch
