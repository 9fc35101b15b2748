#include "model/ops/workspaces.h"

#include <algorithm>
#include <stdexcept>

#include "model/checked.h"
#include "model/ops/factor_sums.h"

namespace vramfit {
namespace {

/// Bytes of `a · b` elements of the format.
std::uint64_t bytes_of(Format format, std::int64_t a, std::int64_t b) {
  return format.bytes(checked_multiply(a, b));
}

/// Of `lines` of a matrix those that a slab holds: of 128 MiB at most, in whole tiles of a GEMM.
std::int64_t slab_lines(std::int64_t lines, std::uint64_t line_bytes) {
  constexpr std::uint64_t kBytes = std::uint64_t{128} << 20;
  constexpr std::int64_t kTile = 128;
  const auto most = static_cast<std::int64_t>(kBytes / line_bytes);
  return std::min(lines, std::max(most / kTile * kTile, kTile));
}

}  // namespace

std::uint64_t gemm_workspace_bytes(Arch arch) {
  if (arch.sm == 0) throw std::logic_error("the GPU's compute capability is not said");
  return std::uint64_t{arch.sm == 90 ? 32U : 4U} << 20;
}

std::uint64_t attention_forward_workspace_bytes(AttentionForm form, const AttentionShape&, Format) {
  return form == AttentionForm::Flash ? kFlashWorkspaceSlack : 0;
}

std::uint64_t attention_backward_workspace_bytes(AttentionForm form, const AttentionShape& s,
                                                 Format format) {
  if (form == AttentionForm::Cublas) return 0;
  const Format sums = accumulation_dtype(format);
  const std::uint64_t dq = bytes_of(sums, s.tokens(), s.q_width());
  const std::uint64_t row_sums = bytes_of(sums, s.tokens(), s.heads);
  const bool grouped = s.kv_heads != s.heads;
  return kFlashWorkspaceSlack + dq + row_sums +
         (grouped ? 2 * bytes_of(format, s.tokens(), s.q_width()) : 0);
}

std::uint64_t attention_decode_workspace_bytes(const AttentionShape& s, Format format) {
  const std::int64_t rows = s.batch * s.heads * kDecodeSplits;
  return bytes_of(accumulation_dtype(format), rows, s.head_dim + 2);
}

std::int64_t column_sum_groups(std::int64_t rows) { return std::min(rows, kColumnSumGroups); }

Shape bias_partials_shape(std::int64_t rows, std::int64_t width) {
  return {column_sum_groups(rows), width};
}

Shape norm_partials_shape(NormKind kind, std::int64_t rows, std::int64_t width) {
  return {kind == NormKind::LayerNorm ? 2 : 1, column_sum_groups(rows), width};
}

Shape head_norm_partials_shape(std::int64_t tokens, std::int64_t head_dim) {
  return {2, column_sum_groups(tokens), head_dim};
}

std::uint64_t embedding_backward_workspace_bytes(std::int64_t tokens, std::int64_t vocab) {
  return 4 * static_cast<std::uint64_t>(tokens + vocab);
}

std::int64_t head_chunk_tokens(std::int64_t tokens, std::int64_t stored_vocab, Format logits) {
  const std::uint64_t row = logits.bytes(stored_vocab);
  const auto rows = static_cast<std::int64_t>(kHeadChunkBytes / row);
  const std::int64_t chunk = std::max(kMinHeadChunk, rows / kMinHeadChunk * kMinHeadChunk);
  return std::min(tokens, chunk);
}

std::int64_t load_slab_rows(std::int64_t rows, std::int64_t width, Format format) {
  constexpr std::uint64_t kBytes = std::uint64_t{16} << 20;
  const auto most = static_cast<std::int64_t>(kBytes / format.bytes(width));
  return std::min(rows, std::max<std::int64_t>(most / 2 * 2, 2));
}

std::int64_t dequantized_rows(std::int64_t rows, std::int64_t width, Format format) {
  return slab_lines(rows, format.bytes(width));
}

std::int64_t dequantized_columns(std::int64_t rows, std::int64_t width, Format format) {
  return slab_lines(width, format.bytes(rows));
}

std::uint64_t optimizer_table_bytes(const std::vector<ParameterUpdate>& updates) {
  return kOptimizerTableEntry * static_cast<std::uint64_t>(updates.size());
}

std::uint64_t factor_sums_bytes(const OptimizerKind& kind,
                                const std::vector<ParameterUpdate>& updates) {
  std::int64_t sums = 0;
  for (const ParameterUpdate& update : updates) {
    const Shape& shape = update.parameter->shape();
    if (is_factored(kind, shape)) sums = std::max(sums, FactorSums{shape[0], shape[1]}.elements());
  }
  return Format(DType::Fp32).bytes(sums);
}

HostSlots host_slots(const std::vector<ParameterUpdate>& updates) {
  std::int64_t trained = 0;
  for (const ParameterUpdate& update : updates) trained += update.parameter->stored().elements();
  return {updates.front().parameter->format(), trained};
}

std::uint64_t host_slots_bytes(const OptimizerKind& kind,
                               const std::vector<ParameterUpdate>& updates) {
  return kind.on_host ? host_slots(updates).bytes() : 0;
}

}  // namespace vramfit
