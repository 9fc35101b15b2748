#pragma once

#include "runtimes/pytorch/torch/tensor/tensor.h"

// Temporary storage of cub's algorithms as PyTorch calls them, allocated and freed. CCCL 3.0, which
// CUDA 13.0 has, and 2.7, which 12.8 has: cub/device/dispatch.
namespace vramfit::pytorch {

/// get_num_bits: of a key, none of which is larger.
std::int64_t bits_of(std::int64_t most);

/// DeviceRadixSort::SortPairs of so many keys, each of so many bytes of which `bits` count, with
/// their places.
void sort_workspace(Context& context, std::int64_t count, std::int64_t key_bytes,
                    std::int64_t bits);

/// DeviceSelect::UniqueByKey of so many longs, each with its place.
void unique_workspace(Context& context, std::int64_t count);

/// DeviceReduce::Sum of so many flags into an int, and DeviceSelect::Flagged of so many longs by
/// them.
void count_workspace(Context& context, std::int64_t count);
void select_workspace(Context& context, std::int64_t count);

/// DeviceScan by an operator of PyTorch's own.
void scan_workspace(Context& context, std::int64_t count, ScalarType type);

}  // namespace vramfit::pytorch
