#pragma once

#include <cstdint>

#include "runtimes/pytorch/torch/tensor/tensor.h"

// What a DTensor of one dimension of GPUs asks for as it goes from one placement to another, seen
// from its local tensors, which is what tensors are here.
//
// torch/distributed/tensor/_api.py (_FromTorchTensor, _ToTorchTensor), _redistribute.py,
// placement_types.py and torch/distributed/_functional_collectives.py, PyTorch 2.11.
namespace vramfit::pytorch {

/// The rows that the first of so many GPUs has of `whole`, which none has more of.
std::int64_t shard_size(std::int64_t whole, std::int64_t gpus);

/// from_local of what all have, to what reads it by a part of its weights: gradients that come back
/// are sums' parts, and are summed.
Tensor from_replicated(const Tensor& x);

/// Partial() to Replicate(): a copy, which is summed. Its gradient is whole on each GPU.
Tensor all_reduce(const Tensor& partial);

/// Shard(-1) to Replicate(), and back.
Tensor all_gather(const Tensor& part, std::int64_t gpus);
Tensor keep_part(const Tensor& whole, std::int64_t gpus);

/// _MaskPartial: a table of `rows`, of which this is a part, looked up; tokens of others are masked
/// before and behind. Its gradient is the whole table's.
Tensor embedding_of_part(const Tensor& weight, const Tensor& indices, std::int64_t rows);

}  // namespace vramfit::pytorch
