#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/config/model_config.h"
#include "model/format.h"
#include "model/memory/tensor.h"
#include "model/ops/arch.h"
#include "model/ops/attention_ops.h"
#include "model/ops/optimizer_ops.h"

// What ops are given to work in, beside their inputs and outputs: pure functions of shapes,
// formats and architecture, so that a dry run allocates what a real one does. Devices choose
// algorithms that need no more.

namespace vramfit {

/// What every GEMM may use at most: cuBLAS's recommendation, 32 MiB on Hopper and 4 MiB elsewhere
/// (cuBLAS library documentation, cublasSetWorkspace). One block serves a whole run, as GEMMs run
/// one after another.
std::uint64_t gemm_workspace_bytes(Arch arch);

/// What cuDNN asks for beyond what it needs, to align what it is given.
inline constexpr std::uint64_t kFlashWorkspaceSlack = 256;

/// Flash forward needs none but the slack; backward an fp32 accumulator of dQ and the row sums of
/// dO·O, and with grouped queries dK and dV of every query head before they are summed. To the byte
/// what the first plan of cuDNN 9.19's composite graph asks for on sm_90.
std::uint64_t attention_forward_workspace_bytes(AttentionForm form, const AttentionShape& shape,
                                                Format format);
std::uint64_t attention_backward_workspace_bytes(AttentionForm form, const AttentionShape& shape,
                                                 Format format);

/// Decoding splits long caches over blocks; each split leaves an unnormalised output row and its
/// maximum and sum, in fp32.
inline constexpr std::int64_t kDecodeSplits = 32;
std::uint64_t attention_decode_workspace_bytes(const AttentionShape& shape, Format format);

/// Groups of rows that column sums are split into: enough to fill any GPU, few enough to be cheap.
inline constexpr std::int64_t kColumnSumGroups = 256;
std::int64_t column_sum_groups(std::int64_t rows);

/// Column sums of dy by groups of rows.
Shape bias_partials_shape(std::int64_t rows, std::int64_t width);

/// dweight's sums, then dbias's.
Shape norm_partials_shape(NormKind kind, std::int64_t rows, std::int64_t width);

/// dq_weight's sums by groups of tokens, then dk_weight's.
Shape head_norm_partials_shape(std::int64_t tokens, std::int64_t head_dim);

/// The batch's positions sorted by their token: where each of V buckets ends, and N positions, of
/// 4 B each.
std::uint64_t embedding_backward_workspace_bytes(std::int64_t tokens, std::int64_t vocab);

/// A chunk's logits take at most this many bytes (and at least kMinHeadChunk tokens' worth): small
/// beside a batch's activations, large enough that its GEMMs run at full speed.
inline constexpr std::uint64_t kHeadChunkBytes = std::uint64_t{256} << 20;
inline constexpr std::int64_t kMinHeadChunk = 128;

/// A multiple of kMinHeadChunk, or all tokens where they are fewer.
std::int64_t head_chunk_tokens(std::int64_t tokens, std::int64_t stored_vocab, Format logits);

/// Weights that are stored quantised are drawn so many rows at a time: of 16 MiB at most, a small
/// part of any model, and an even number where there are more, so that bytes are whole.
std::int64_t load_slab_rows(std::int64_t rows, std::int64_t width, Format format);

/// At most so many rows are quantised by the linear that multiplies them.
inline constexpr std::int64_t kFusedRows = 16;

/// At most so many rows multiply a weight that alone is quantised without writing it anywhere: on
/// Hopper, whose tensor cores take a weight's rows from registers.
inline constexpr std::int64_t kDirectRows = 64;
constexpr std::int64_t direct_rows(Arch arch) { return arch.sm == 90 ? kDirectRows : kFusedRows; }

/// At most so many rows are normalised by the linear that multiplies them, each of whose blocks
/// does it again; kFusedRows where it quantises them as well, which is done once, of aligned rows.
inline constexpr std::int64_t kNormedRows = 4;
constexpr std::int64_t normed_rows(bool quantizes_x) {
  return quantizes_x ? kFusedRows : kNormedRows;
}

/// Rows of a quantised weight that are dequantised at a time, where more than direct_rows multiply
/// it: of 128 MiB at most, in whole tiles of a GEMM.
std::int64_t dequantized_rows(std::int64_t rows, std::int64_t width, Format format);

/// Columns of a quantised weight that are dequantised at a time, where a gradient is multiplied by
/// it: likewise.
std::int64_t dequantized_columns(std::int64_t rows, std::int64_t width, Format format);

/// The device's table of parameters, so many bytes each.
inline constexpr Name kOptimizerTable = "optimizer_table";
inline constexpr std::uint64_t kOptimizerTableEntry = 64;
std::uint64_t optimizer_table_bytes(const std::vector<ParameterUpdate>& updates);

/// FactorSums of the largest matrix whose v is factored, in fp32.
std::uint64_t factor_sums_bytes(const OptimizerKind& kind,
                                const std::vector<ParameterUpdate>& updates);

/// In the host's memory, where the host takes the updates.
std::uint64_t host_slots_bytes(const OptimizerKind& kind,
                               const std::vector<ParameterUpdate>& updates);

}  // namespace vramfit
