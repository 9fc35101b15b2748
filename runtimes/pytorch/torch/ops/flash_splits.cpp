#include "runtimes/pytorch/torch/ops/flash_splits.h"

#include <algorithm>
#include <cmath>

#include "model/checked.h"

namespace vramfit::pytorch {
namespace {

constexpr std::int64_t kRowsOfABlock = 64;
constexpr std::int64_t kMostSplits = 128;
constexpr float kFull = 0.8F;         // of the card: no split is worth its memory traffic
constexpr double kNearlyBest = 0.85;  // the fewest splits that come so near the best

/// Keys that a block of its kernel takes at a time.
std::int64_t keys_of_a_block(std::int64_t head_dim) {
  return head_dim <= 64 ? 256 : head_dim <= 128 ? 128 : 64;
}

}  // namespace

std::int64_t flash_splits(const FlashShape& shape, int multiprocessors) {
  const std::int64_t places = std::int64_t{2} * multiprocessors;  // two blocks on each
  const std::int64_t row_blocks = shape.batch * shape.heads * div_up(shape.queries, kRowsOfABlock);
  if (static_cast<float>(row_blocks) >= kFull * static_cast<float>(places)) return 1;
  const std::int64_t key_blocks = div_up(shape.keys, keys_of_a_block(shape.head_dim));
  const std::int64_t most = std::min({kMostSplits, places, key_blocks});
  // How full the card is, on average over the waves of blocks.
  const auto efficiency = [&](std::int64_t splits) {
    const float waves = static_cast<float>(row_blocks * splits) / static_cast<float>(places);
    return waves / std::ceil(waves);
  };
  // One more split that leaves the largest part as it is does nothing.
  const auto counts = [&](std::int64_t splits) {
    return splits == 1 || div_up(key_blocks, splits) != div_up(key_blocks, splits - 1);
  };
  float best = 0;
  for (std::int64_t splits = 1; splits <= most; ++splits) {
    if (counts(splits)) best = std::max(best, efficiency(splits));
  }
  for (std::int64_t splits = 1; splits <= most; ++splits) {
    if (counts(splits) && efficiency(splits) >= kNearlyBest * best) return splits;
  }
  return 1;
}

}  // namespace vramfit::pytorch
