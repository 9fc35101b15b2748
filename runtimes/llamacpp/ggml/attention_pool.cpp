#include "runtimes/llamacpp/ggml/attention_pool.h"

#include <algorithm>

#include "runtimes/llamacpp/ggml/cuda_facts.h"
#include "runtimes/llamacpp/ggml/flash_attention.h"
#include "runtimes/llamacpp/ggml/pool_stack.h"

namespace vramfit::llamacpp::ggml {
namespace {

/// A block's share of the work: so many queries, of so many heads of one key (ncols1, ncols2).
struct Tile {
  std::int64_t queries = 1;
  std::int64_t heads = 1;

  std::int64_t columns() const { return queries * heads; }
};

// ggml_cuda_flash_attn_ext_mma_f16_switch_ncols2, and _ncols1.
Tile tensor_core_tile(int compute_capability, const Tensor& op) {
  const Tensor& q = *op.sources[0];
  const std::int64_t ratio = q.ne[2] / op.sources[1]->ne[2];
  Tile tile;
  if (q.ne[0] == 576) {
    tile.heads = ratio % 16 == 0 ? 16 : 4;
  } else if (heads_together(op)) {
    tile.heads = ratio > 4 ? 8 : ratio > 2 ? 4 : 2;
  }
  const std::int64_t most = compute_capability == kTuring ? 32 : 64;
  std::int64_t columns = std::max<std::int64_t>(8, tile.heads);
  while (columns < most && q.ne[1] > columns / tile.heads) columns *= 2;
  tile.queries = columns / tile.heads;
  return tile;
}

// Keys and values that a block reads at once: fattn_mma_config's nbatch_fa.
std::int64_t tensor_core_keys(std::int64_t head, std::int64_t columns) {
  if (head <= 128) return columns == 8 ? 128 : 64;
  if (head <= 256) return columns <= 16 ? 64 : 32;
  if (head == 512) return columns <= 16 ? 64 : 32;
  return 32;
}

// Threads of a block: fattn_mma_config aims at 256 on a multiprocessor.
std::int64_t tensor_core_threads(int compute_capability, std::int64_t head, std::int64_t columns) {
  if (head <= 128) return 128;
  if (head <= 256) return columns == 16 && compute_capability > kTuring ? 256 : 128;
  if (head == 512) return columns == 8 ? 128 : 256;
  return columns <= 16 ? 64 : columns == 32 ? 128 : 256;
}

// Blocks on a multiprocessor at once. Of large heads shared memory may hold fewer.
std::int64_t tensor_core_blocks(int compute_capability, std::int64_t head, const Tile& tile) {
  const std::int64_t columns = tile.columns();
  const std::int64_t blocks = 256 / tensor_core_threads(compute_capability, head, columns);
  if (head < 512) return blocks;
  const std::int64_t keys = tensor_core_keys(head, columns);
  const std::int64_t at_once = head == 512 ? 128 : columns <= 16 ? 288 : 160;
  const std::int64_t shared =
      4 * (columns * (head / 2 + 4) + keys * (at_once + 4) + tile.queries * (keys / 2 + 4));
  const std::int64_t there = 1024 * (compute_capability >= 900   ? 228
                                     : compute_capability == 800 ? 164
                                                                 : 100);
  return std::max<std::int64_t>(1, std::min(blocks, there / (shared + 1024)));
}

void tensor_cores(const Backend& backend, const Tensor& op, PoolStack& stack) {
  const Tensor& q = *op.sources[0];
  const Tensor& k = *op.sources[1];
  const Tile tile = tensor_core_tile(backend.compute_capability, op);
  const std::int64_t tiles =
      ceil_div(q.ne[1], tile.queries) * ceil_div(q.ne[2] / k.ne[2], tile.heads) * k.ne[2] * q.ne[3];
  const std::int64_t most =
      backend.multiprocessors * tensor_core_blocks(backend.compute_capability, q.ne[0], tile);
  // Blocks share tiles, unless tiles alone fill the card, or little is lost where each has its own.
  std::int64_t blocks = tiles;
  const std::int64_t efficiency = 100 * tiles / (most * ceil_div(tiles, most));
  if (backend.compute_capability >= kAda || efficiency < 75) {
    blocks = std::min(most, tiles * ceil_div(k.ne[1], tensor_core_keys(q.ne[0], tile.columns())));
    const std::int64_t whole = blocks / tiles * tiles;
    if (whole > 0 && 100 * (blocks - whole) / blocks <= 5) blocks = whole;
  }
  if (tiles % blocks != 0) stack.take(blocks * tile.columns() * (2 + op.ne[0] / 2) * 8);
}

// Kernels without tensor cores, for few queries: parts of the keys, which are summed after.
void parts_of_keys(const Backend& backend, const Tensor& op, PoolStack& stack) {
  const Tensor& q = *op.sources[0];
  const Tensor& k = *op.sources[1];
  constexpr std::int64_t kBlocks = 2;  // on a multiprocessor; registers decide, not measured
  const std::int64_t queries = q.ne[1] == 1 ? 1 : 2;
  const std::int64_t tiles = ceil_div(q.ne[1], queries) * q.ne[2] * q.ne[3];
  const std::int64_t keys = ceil_div(k.ne[1], q.ne[0]);
  const std::int64_t wave = backend.multiprocessors * kBlocks;
  std::int64_t parts = std::min(kBlocks, keys);
  std::int64_t best = 0;
  std::int64_t waves_of_best = 0;
  for (std::int64_t n = parts; n <= keys; ++n) {
    const std::int64_t waves = ceil_div(tiles * n, wave);
    const std::int64_t efficiency = 100 * tiles * n / (waves * wave);
    if (best >= 95 && waves > waves_of_best) break;
    if (efficiency > best) {
      best = efficiency;
      waves_of_best = waves;
      parts = n;
    }
  }
  if (parts < 2) return;
  stack.take(parts * op.elements() * 4);
  stack.take(parts * op.rows() * 8);
}

}  // namespace

void attention_pool(const Backend& backend, const Tensor& op, PoolStack& stack) {
  const Tensor& q = *op.sources[0];
  const AttentionKernel kernel = flash_attention_kernel(backend.compute_capability, op);
  const bool on_tensor_cores = kernel == AttentionKernel::TensorCores;
  if (op.sources[3] != nullptr && op.sources[1]->ne[1] % kKeyStride == 0 &&
      (q.ne[1] >= 1024 || q.ne[3] > 1)) {
    const std::int64_t queries = on_tensor_cores
                                     ? tensor_core_tile(backend.compute_capability, op).queries
                                     : std::min<std::int64_t>(q.ne[1], 2);
    stack.take(ceil_div(q.ne[1], queries) * q.ne[3] * 4);  // how far each looks
  }
  if (on_tensor_cores) return tensor_cores(backend, op, stack);
  parts_of_keys(backend, op, stack);
}

}  // namespace vramfit::llamacpp::ggml
