#include <algorithm>

#include "model/checked.h"
#include "model/errors.h"
#include "model/ops/attention_ops.h"
#include "model/ops/elementary_ops.h"
#include "model/ops/head_ops.h"
#include "model/ops/linear_ops.h"

namespace vramfit {
namespace {

/// Bytes of `a · b` elements of the format.
std::uint64_t bytes_of(Format format, std::int64_t a, std::int64_t b) {
  return format.bytes(checked_multiply(a, b));
}

}  // namespace

const char* name(AttentionForm form) { return form == AttentionForm::Flash ? "flash" : "cublas"; }

AttentionForm parse_attention(const std::string& text) {
  for (const AttentionForm form : {AttentionForm::Flash, AttentionForm::Cublas}) {
    if (text == name(form)) return form;
  }
  throw BadInput("attention: unknown '" + text + "'; flash or cublas");
}

Shape bias_partials_shape(std::int64_t rows, std::int64_t width) {
  return {column_sum_groups(rows), width};
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

std::int64_t head_chunk_tokens(std::int64_t tokens, std::int64_t stored_vocab, Format format) {
  const std::uint64_t row = format.bytes(stored_vocab);
  const auto rows = static_cast<std::int64_t>(kHeadChunkBytes / row);
  const std::int64_t chunk = std::max(kMinHeadChunk, rows / kMinHeadChunk * kMinHeadChunk);
  return std::min(tokens, chunk);
}

}  // namespace vramfit
