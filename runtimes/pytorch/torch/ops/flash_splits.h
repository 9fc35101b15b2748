#pragma once

#include <cstdint>

namespace vramfit::pytorch {

/// What a call of flash attention is of, as its kernel takes it.
struct FlashShape {
  std::int64_t batch;
  std::int64_t heads;    ///< of the queries; of one token's in groups, of the keys
  std::int64_t queries;  ///< of a head; of one token's in groups, a group's
  std::int64_t keys;
  std::int64_t head_dim;
};

/// Into how many parts the keys are split where queries alone would leave multiprocessors idle;
/// each part has an output of its own, in fp32. 1: they are not.
///
/// cuda/flash_attn/flash_api.cpp (set_params_splitkv, num_splits_heuristic), PyTorch 2.11.
std::int64_t flash_splits(const FlashShape& shape, int multiprocessors);

}  // namespace vramfit::pytorch
