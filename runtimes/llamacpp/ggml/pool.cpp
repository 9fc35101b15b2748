#include "runtimes/llamacpp/ggml/pool.h"

#include <algorithm>

#include "runtimes/llamacpp/ggml/attention_pool.h"
#include "runtimes/llamacpp/ggml/cuda_facts.h"
#include "runtimes/llamacpp/ggml/pool_stack.h"

namespace vramfit::llamacpp::ggml {
namespace {

constexpr std::int64_t kVectorBatch = 8;  // MMVQ_MAX_BATCH_SIZE
constexpr std::int64_t kTileRows = 128;   // I of mmq-config-ampere.cuh
constexpr std::int64_t kIdBytes = 4;

// Rows as blocks of q8_1: 36 bytes for 32 elements.
std::int64_t q8_1_bytes(std::int64_t elements, std::int64_t rows) {
  return rows * (ceil_div(elements, kRowPadding) * kRowPadding) * 36 / 32;
}

// Columns of a tile that there are kernels for; fewer where rows are no whole tiles.
bool has_tile(std::int64_t columns, bool fallback) {
  switch (columns) {
    case 8:
    case 16:
    case 32:
    case 64:
    case 128:
      return true;
    case 24:
    case 40:
    case 48:
    case 80:
    case 96:
    case 112:
      return !fallback;
    default:
      return false;
  }
}

// ggml_cuda_mmq_get_J_max.
std::int64_t widest_tile(std::int64_t columns, bool fallback) {
  std::int64_t width = std::min<std::int64_t>(columns, 512) / 8 * 8;
  while (width > 0 && !has_tile(width, fallback)) width -= 8;
  return width;
}

// mul_mat_q_switch_J: the narrowest of those that need fewest tiles.
std::int64_t best_tile(std::int64_t columns, bool fallback) {
  std::int64_t best = 0;
  std::int64_t fewest = 0;
  for (std::int64_t width = 8; width <= 128 && fewest != 1; width += 8) {
    if (!has_tile(width, fallback)) continue;
    const std::int64_t tiles = ceil_div(columns, width);
    if (best == 0 || tiles < fewest) {
      best = width;
      fewest = tiles;
    }
  }
  return best;
}

// launch_mul_mat_q: sums of tiles that two blocks share, unless tiles fill the card well.
void take_fixup(const Backend& backend, std::int64_t rows, std::int64_t columns,
                std::int64_t matrices, bool fallback, PoolStack& stack) {
  const std::int64_t width = best_tile(columns, fallback);
  const std::int64_t tiles = ceil_div(columns, width) * ceil_div(rows, kTileRows) * matrices;
  const std::int64_t processors = backend.multiprocessors;
  const std::int64_t efficiency = 100 * tiles / (processors * ceil_div(tiles, processors));
  if (efficiency >= 90 || tiles % processors == 0) return;
  stack.take(processors * width * kTileRows * 4);
}

// ggml_cuda_mul_mat_q.
void quantised_product(const Backend& backend, const Tensor& op, PoolStack& stack) {
  const Tensor& a = *op.sources[0];
  const Tensor& b = *op.sources[1];
  const bool fallback = a.ne[1] % kTileRows != 0;
  constexpr std::int64_t kBlock = 144;  // sizeof(block_q8_1_mmq)
  stack.take(q8_1_bytes(b.ne[0], b.rows()) + widest_tile(b.ne[1], fallback) * kBlock);
  take_fixup(backend, a.ne[1], b.ne[1], b.ne[2] * b.ne[3], fallback, stack);
}

// The same of experts: rows are gathered by expert.
void quantised_expert_product(const Backend& backend, const Tensor& op, PoolStack& stack) {
  const Tensor& experts = *op.sources[0];
  const Tensor& b = *op.sources[1];
  const std::int64_t rows = op.sources[2]->ne[0] * b.ne[2];
  const bool fallback = experts.ne[1] % kTileRows != 0;
  stack.take(rows * kIdBytes);
  stack.take(rows * kIdBytes);
  stack.take((experts.ne[2] + 1) * kIdBytes);
  stack.take(q8_1_bytes(b.ne[0], rows) + widest_tile(b.ne[1], fallback) * 144);
  take_fixup(backend, experts.ne[1], b.ne[2], experts.ne[2], fallback, stack);
}

// ggml_cuda_mul_mat_cublas_impl: operands as what is computed in, and, in f16, the output.
void cublas_product(const Backend& backend, const Tensor& op, PoolStack& stack) {
  const Tensor& a = *op.sources[0];
  const Tensor& b = *op.sources[1];
  Kind kind = a.type.quantised() ? Kind::F16 : a.type.kind;
  if (kind == Kind::BF16 && backend.compute_capability < kAmpere && b.ne[1] > kVectorBatch) {
    kind = Kind::F32;
  }
  if (op.precise) kind = Kind::F32;
  const std::int64_t size = kind == Kind::F32 ? 4 : 2;
  if (a.type.kind != kind) stack.take(a.elements() * size);
  if (b.type.kind != kind) stack.take(b.elements() * size);
  if (kind == Kind::F16 && backend.compute_capability != kVolta) stack.take(op.elements() * size);
  const std::int64_t products = b.ne[2] * b.ne[3];
  const bool broadcast = a.ne[2] != b.ne[2] || a.ne[3] != b.ne[3];
  // What is converted from rows that do not follow each other does so after.
  const auto follows = [&](const Tensor& x) {
    return contiguous(x, 2) || (x.type.kind != kind && !contiguous(x));
  };
  if (products == 1 || (!broadcast && follows(a) && follows(b))) return;
  stack.take(2 * products * 8);  // addresses
  stack.take(products * 8);
}

bool rows_are_aligned(const Tensor& a) {
  for (std::size_t i = 1; i < kMaxDims; ++i) {
    if (a.nb[i] % (std::uint64_t{2} * a.type.bytes) != 0) return false;
  }
  return a.nb[0] == a.type.bytes;
}

// ggml_cuda_should_use_mmvf.
bool takes_vectors(const Backend& backend, const Tensor& a, std::int64_t columns) {
  if (a.ne[0] % 2 != 0 || !rows_are_aligned(a)) return false;
  const bool ampere = backend.compute_capability >= kAmpere;
  if (a.type == kF32) return columns <= (ampere ? 3 : 4);
  return (a.ne[1] <= 512 || a.ne[2] * a.ne[3] == 1) && columns <= (ampere ? 1 : 3);
}

// ggml_cuda_should_use_mmf: `most` columns.
bool takes_few_columns(const Backend& backend, const Tensor& a, std::int64_t columns,
                       std::int64_t most) {
  constexpr std::int64_t kRows = 32;  // mmf_get_rows_per_block
  return a.ne[0] % (kRows * 4 / a.type.bytes) == 0 && rows_are_aligned(a) && a.ne[1] % kRows == 0 &&
         columns <= most && (backend.compute_capability >= kAmpere || a.type == kF16);
}

// The cases of ggml_cuda_should_use_mmq, of types that files have.
bool takes_tiles(Type type) {
  constexpr std::uint16_t kIq1M = 56;  // bytes of a block
  return type.quantised() && type.kind != Kind::TQ && type.bytes != kIq1M;
}

// ggml_cuda_should_use_mmvq.
std::int64_t vector_columns(const Backend& backend, Type type) {
  constexpr std::uint16_t kQ2K = 84;
  constexpr std::uint16_t kQ3K = 110;
  if (backend.compute_capability != kAda || type.block != 256) return kVectorBatch;
  return type.bytes == kQ2K ? 4 : type.bytes == kQ3K ? 6 : kVectorBatch;
}

// ggml_cuda_mul_mat.
void product(const Backend& backend, const Tensor& op, PoolStack& stack) {
  const Tensor& a = *op.sources[0];
  const Tensor& b = *op.sources[1];
  if (b.type == kF32) {
    if (!a.type.quantised()) {
      if (takes_vectors(backend, a, b.ne[1]) || takes_few_columns(backend, a, b.ne[1], 16)) return;
    } else if (b.ne[1] <= vector_columns(backend, a.type)) {
      return stack.take(q8_1_bytes(b.ne[0], b.rows()));
    } else if (takes_tiles(a.type)) {
      return quantised_product(backend, op, stack);
    }
  }
  cublas_product(backend, op, stack);
}

// ggml_cuda_mul_mat_id.
void expert_product(const Backend& backend, const Tensor& op, PoolStack& stack) {
  const Tensor& experts = *op.sources[0];
  const Tensor& b = *op.sources[1];
  const std::int64_t tokens = b.ne[2];
  const std::int64_t rows = op.sources[2]->ne[0] * tokens;
  if (experts.type.quantised() && tokens <= kVectorBatch) {
    return stack.take(q8_1_bytes(b.ne[0], b.rows()));
  }
  if (takes_tiles(experts.type)) return quantised_expert_product(backend, op, stack);
  if (!experts.type.quantised() &&
      takes_few_columns(backend, experts, tokens, experts.ne[1] <= 1024 ? 512 : 128)) {
    if (tokens <= 16) return;
    stack.take(rows * kIdBytes);
    stack.take(rows * kIdBytes);
    return stack.take((experts.ne[2] + 1) * kIdBytes);
  }
  // Expert after expert, of rows that were sorted by them.
  const Type sorted = experts.type.quantised() ? kF32 : experts.type;
  stack.take(2 * rows * kIdBytes);
  stack.take(rows * b.ne[0] * sorted.bytes);
  stack.take(rows * op.ne[0] * 4);
  if (sorted == kF16 && backend.compute_capability != kVolta) stack.take(tokens * op.ne[0] * 2);
}

}  // namespace

std::uint64_t pool_bytes(const Backend& backend, const Tensor& op) {
  PoolStack stack;
  if (op.op == Op::MulMat) product(backend, op, stack);
  if (op.op == Op::MulMatId) expert_product(backend, op, stack);
  if (op.op == Op::FlashAttention) attention_pool(backend, op, stack);
  return stack.most();
}

bool PoolOps::alike(const Kept& a, const Kept& b) {
  const auto same = [](const Tensor& one, const Tensor& other) {
    return one.type == other.type && one.ne == other.ne && one.nb == other.nb;
  };
  if (a.op.op != b.op.op || a.op.precise != b.op.precise || a.there != b.there) return false;
  for (std::size_t i = 0; i < kSources; ++i) {
    if (a.there.at(i) && !same(a.sources.at(i), b.sources.at(i))) return false;
  }
  return same(a.op, b.op);
}

void PoolOps::add(const Tensor& op) {
  if (op.op != Op::MulMat && op.op != Op::MulMatId && op.op != Op::FlashAttention) return;
  Kept kept{op, {}, {}};
  for (std::size_t i = 0; i < kSources; ++i) {
    const Tensor* source = op.sources.at(i);
    kept.there.at(i) = source != nullptr;
    if (source != nullptr) kept.sources.at(i) = *source;
  }
  const bool known = std::any_of(kept_.rbegin(), kept_.rend(),
                                 [&](const Kept& other) { return alike(kept, other); });
  if (!known) kept_.push_back(kept);
}

std::uint64_t PoolOps::most(const Backend& backend) const {
  std::uint64_t most = 0;
  for (Kept kept : kept_) {
    for (std::size_t i = 0; i < kSources; ++i) {
      kept.op.sources.at(i) = kept.there.at(i) ? &kept.sources.at(i) : nullptr;
    }
    most = std::max(most, pool_bytes(backend, kept.op));
  }
  return most;
}

std::uint64_t pool_mapped(std::uint64_t most) {
  constexpr std::uint64_t kGranularity = 2U << 20U;
  return (most + kGranularity - 1) / kGranularity * kGranularity;
}

}  // namespace vramfit::llamacpp::ggml
