#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/vllm/profile.h"

namespace vramfit::vllm {

/// Slots of adapters (--enable-lora): of each product an A and a B of every slot, of embeddings
/// where the model's class has them take adapters, and what says which token has which
/// (vllm/lora/). Bytes, tensor by tensor; nothing without slots.
std::vector<std::uint64_t> adapter_slots(const Shape& shape, const Options& options,
                                         const Batch& batch);

}  // namespace vramfit::vllm
