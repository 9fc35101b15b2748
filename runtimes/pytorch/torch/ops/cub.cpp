#include "runtimes/pytorch/torch/ops/cub.h"

#include <algorithm>
#include <initializer_list>

#include "model/checked.h"
#include "model/errors.h"
#include "runtimes/pytorch/torch/ops/multiprocessor.h"
#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {
namespace {

constexpr std::int64_t kAlignment = 256;

/// TILE_STATUS_PADDING
constexpr std::int64_t kTilePadding = 32;

constexpr std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// util_temporary_storage.cuh, alias_temporaries: each begins at a multiple of 256 bytes.
std::int64_t aliased(std::initializer_list<std::int64_t> parts) {
  std::int64_t bytes = kAlignment - 1;
  for (const std::int64_t part : parts) bytes += aligned(part);
  return bytes;
}

void use(Context& context, std::int64_t bytes) {
  empty(context, {bytes}, ScalarType::Byte, Category::Workspace);
}

/// RegBoundScaling, of policies that are named for 4 bytes, and pairs with 8 bytes in them.
struct Tile {
  std::int64_t threads;
  std::int64_t items;  ///< a thread

  std::int64_t scaled() const {
    constexpr std::int64_t kSharedBytes = 48 * 1024;
    constexpr std::int64_t kBytes = 8;
    const std::int64_t each = std::max<std::int64_t>(1, items * 4 / kBytes);
    const std::int64_t most = div_up(kSharedBytes / (kBytes * each), std::int64_t{32}) * 32;
    return each * std::min(threads, most);
  }
};

/// tuning_radix_sort.cuh: OnesweepPolicy, with counts of 64 bits.
Tile onesweep(Arch arch, std::int64_t key_bytes) {
  if (key_bytes < 2 || (key_bytes < 4 && arch.sm < 90)) {
    throw BadInput("sorting many short numbers is not predicted yet");
  }
  if (arch.sm < 80) return {256, 23};
  if (arch.sm < 90) return {384, key_bytes == 4 ? 17 : 21};
  if (key_bytes == 2) return {512, 23};
  return {384, key_bytes == 4 ? 29 : 24};
}

/// States of tiles that fit into a word each.
std::int64_t words(const Context& context, std::int64_t bytes) {
  return context.release.rules.cub_lays_out_words ? aliased({bytes}) : bytes;
}

}  // namespace

std::int64_t bits_of(std::int64_t most) {
  std::int64_t bits = 1;
  for (; most > 1; most >>= 1) ++bits;
  return bits;
}

// dispatch_radix_sort.cuh (InvokeSingleTile, InvokeOnesweep).
void sort_workspace(Context& context, std::int64_t count, std::int64_t key_bytes,
                    std::int64_t bits) {
  constexpr std::int64_t kDigits = 256;
  constexpr Tile kSingle = {256, 19};
  if (count <= kSingle.scaled()) return use(context, 1);
  const std::int64_t tile = onesweep(context.arch, key_bytes).scaled();
  const std::int64_t portion = ((std::int64_t{1} << 28) - 1) / tile * tile;
  const std::int64_t passes = div_up(bits, std::int64_t{8});
  const std::int64_t portions = div_up(count, portion);
  const std::int64_t blocks = div_up(std::min(count, portion), tile);
  const std::int64_t buffered = passes <= 1 ? 0 : count;
  use(context, aliased({portions * passes * kDigits * 8, blocks * kDigits * 4, buffered * key_bytes,
                        buffered * 8, portions * passes * 4}));
}

// dispatch_unique_by_key.cuh; a count of 64 bits and its state, for each tile.
void unique_workspace(Context& context, std::int64_t count) {
  // tuning_unique_by_key.cuh: keys of 8 bytes, places of 4; elsewhere DefaultPolicy.
  const int sm = context.arch.sm;
  const std::int64_t tile = sm >= 100 ? 384 * 10 : sm == 90 ? 640 * 7 : sm == 80 ? 256 * 7 : 64 * 5;
  constexpr std::int64_t kState = 16;
  use(context, aliased({words(context, (div_up(count, tile) + kTilePadding) * kState)}));
}

// dispatch_reduce.cuh: a sum for each block of as many as run at once, five times over.
void count_workspace(Context& context, std::int64_t count) {
  constexpr std::int64_t kThreads = 256;
  constexpr std::int64_t kItems = 16;
  constexpr std::int64_t kSubscription = 5;  // CUB_SUBSCRIPTION_FACTOR
  if (count <= kThreads * kItems) return use(context, 1);
  const std::int64_t blocks =
      context.multiprocessors * (threads_per_multiprocessor(context.arch) / kThreads);
  use(context, aliased({blocks * kSubscription * 4}));
}

// dispatch_select_if.cuh: a count and its state in a word, for each tile.
void select_workspace(Context& context, std::int64_t count) {
  // tuning_select_if.cuh, of 8 bytes and flags; of capability 10 and 12 by its calls.
  const int sm = context.arch.sm;
  const std::int64_t tile = sm >= 100 ? 3520 : sm == 90 ? 224 * 19 : sm == 80 ? 384 * 6 : 128 * 5;
  constexpr std::int64_t kState = 8;
  use(context, aliased({words(context, (div_up(count, tile) + kTilePadding) * kState)}));
}

// dispatch_scan.cuh and single_pass_scan_operators.cuh (ScanTileState); DefaultPolicy.
void scan_workspace(Context& context, std::int64_t count, ScalarType type) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  if (count > kMost) throw BadInput("a scan of so many is not predicted yet");
  constexpr std::int64_t kThreads = 128;
  constexpr std::int64_t kItems = 15;
  const std::int64_t bytes = element_size(type);
  const std::int64_t items = std::min(kItems * 4 / bytes, kItems * 2);
  const std::int64_t states = div_up(count, kThreads * items) + kTilePadding;
  // A state and a value in one word, where the type is one of C++'s own.
  const std::int64_t tile_states =
      is_half(type) ? aliased({states * 4, states * bytes, states * bytes})
                    : words(context, states * 2 * std::max<std::int64_t>(bytes, 2));
  use(context, aliased({tile_states}));
}

}  // namespace vramfit::pytorch
