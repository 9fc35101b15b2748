#include "model/ops/cudnn_attention.h"

#include <algorithm>
#include <bit>

namespace vramfit {
namespace {

constexpr std::uint64_t kAligns = 256;

std::uint64_t unsigned_of(std::int64_t n) { return static_cast<std::uint64_t>(n); }
std::uint64_t divided_up(std::uint64_t n, std::uint64_t by) { return (n + by - 1) / by; }

/// Keys of a single query go over multiprocessors in splits of 128 and more, a power of two and at
/// most 64, as many as keep all busy: none where half of them are anyway. A block of threads takes
/// 16 query heads that share keys.
std::uint64_t splits(const CudnnAttention& a, std::uint64_t multiprocessors) {
  constexpr std::uint64_t kHeadsOfBlock = 16;
  constexpr std::uint64_t kLeast = 128;
  constexpr std::uint64_t kMost = 64;
  constexpr std::uint64_t kUnsplit = 4 * kLeast;
  const std::uint64_t keys = divided_up(unsigned_of(a.keys), 8) * 8;
  const std::uint64_t blocks = unsigned_of(a.batch * a.kv_heads) *
                               divided_up(unsigned_of(a.heads / a.kv_heads), kHeadsOfBlock);
  if (keys <= kUnsplit || 2 * blocks > multiprocessors) return 1;
  return std::min(
      {kMost, std::bit_ceil(divided_up(multiprocessors, blocks)), std::bit_floor(keys / kLeast)});
}

}  // namespace

std::uint64_t cudnn_forward_workspace(const CudnnAttention& a, int multiprocessors) {
  if (a.queries > 1) return kAligns;
  const std::uint64_t parts = splits(a, static_cast<std::uint64_t>(multiprocessors));
  if (parts == 1) return 0;
  // Of each an output row, and its maximum and its sum.
  constexpr std::uint64_t kAligned = 128;
  const std::uint64_t rows = parts * unsigned_of(a.batch * a.heads);
  return rows * unsigned_of(a.head_dim) * 4 + 2 * divided_up(rows * 4, kAligned) * kAligned +
         kAligned;
}

std::uint64_t cudnn_backward_engine_workspace(const CudnnAttention& a) {
  if (a.heads == a.kv_heads) return kAligns;
  return kAligns + 2 * unsigned_of(a.batch * a.heads * a.keys * a.head_dim * a.element);
}

std::uint64_t cudnn_backward_workspace(const CudnnAttention& a) {
  const std::uint64_t rows = unsigned_of(a.batch * a.heads * a.queries);
  return rows * unsigned_of(a.head_dim) * 4 + rows * 4 + cudnn_backward_engine_workspace(a);
}

}  // namespace vramfit
