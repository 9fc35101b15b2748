#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/matrix.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

/// The (B, T) tokens, each checked against the table.
const std::int32_t* checked_tokens(const Tensor& tokens, std::int64_t vocab) {
  const std::int64_t count = tokens.shape().elements();
  const auto* values = input<std::int32_t>(tokens, count);
  for (std::int64_t n = 0; n < count; ++n) {
    require(values[n] >= 0 && values[n] < vocab, "a token lies outside the vocabulary");
  }
  return values;
}

template <typename Element>
void embed(const EmbeddingForward& op) {
  const std::int64_t count = op.tokens.shape().elements();
  const std::int64_t seq = op.tokens.shape()[1];
  const std::int64_t hidden = op.table.shape()[1];
  const auto* tokens = checked_tokens(op.tokens, op.table.shape()[0]);
  const auto table = input<Element>(op.table, op.table.stored()[0], hidden);
  const auto x = output<Element>(op.x, count, hidden);
  Matrix<const Element> positions;
  if (op.positions != nullptr) {
    positions = input<Element>(*op.positions, op.positions->shape()[0], hidden);
  }
  const auto* starts = input<std::int32_t>(op.starts, count / seq);
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t position = (starts == nullptr ? 0 : starts[n / seq]) + n % seq;
    require(op.positions == nullptr || position < op.positions->shape()[0],
            "a position has no embedding");
    for (std::int64_t c = 0; c < hidden; ++c) {
      Accumulator<Element> sum = table[tokens[n]][c];
      if (op.positions != nullptr) sum += positions[position][c];
      x[n][c] = static_cast<Element>(sum);
    }
  }
}

/// For each token of the vocabulary where in the batch it stands, as lists in ascending order:
/// `first[v]` starts v's, `next[n]` goes on from n, kNone ends it.
class Occurrences {
 public:
  static constexpr std::int32_t kNone = -1;

  Occurrences(const std::int32_t* tokens, std::int64_t count, std::int64_t vocab,
              const Tensor& workspace)
      : first_(workspace.as<std::int32_t>()), next_(first_ + vocab) {
    require_workspace(workspace, embedding_backward_workspace_bytes(count, vocab));
    for (std::int64_t v = 0; v < vocab; ++v) first_[v] = kNone;
    for (std::int64_t n = count - 1; n >= 0; --n) {
      next_[n] = first_[tokens[n]];
      first_[tokens[n]] = static_cast<std::int32_t>(n);
    }
  }

  std::int32_t first(std::int64_t token) const { return first_[token]; }
  std::int32_t next(std::int32_t n) const { return next_[n]; }

 private:
  std::int32_t* first_;  ///< (V)
  std::int32_t* next_;   ///< (N)
};

template <typename Element>
void table_backward(const EmbeddingBackward& op, Matrix<const Element> dx, std::int64_t hidden) {
  const std::int64_t vocab = op.dtable.shape()[0];
  const std::int64_t stored = op.dtable.stored()[0];
  const auto* tokens = checked_tokens(op.tokens, vocab);
  const auto dtable = output<Element>(op.dtable, stored, hidden);
  const Occurrences occurrences(tokens, op.tokens.shape().elements(), vocab, op.workspace);
  for (std::int64_t v = 0; v < stored; ++v) {
    const std::int32_t first = v < vocab ? occurrences.first(v) : Occurrences::kNone;
    for (std::int64_t c = 0; c < hidden; ++c) {
      Accumulator<Element> sum = 0;
      for (std::int32_t n = first; n != Occurrences::kNone; n = occurrences.next(n))
        sum += dx[n][c];
      store(dtable[v][c], sum, op.accumulate_table);
    }
  }
}

template <typename Element>
void positions_backward(const EmbeddingBackward& op, Matrix<const Element> dx,
                        std::int64_t hidden) {
  const std::int64_t batch = op.tokens.shape()[0];
  const std::int64_t seq = op.tokens.shape()[1];
  const std::int64_t rows = op.dpositions->shape()[0];
  require(seq <= rows, "a position has no embedding");
  const auto dpositions = output<Element>(*op.dpositions, rows, hidden);
  for (std::int64_t t = 0; t < rows; ++t) {
    for (std::int64_t c = 0; c < hidden; ++c) {
      Accumulator<Element> sum = 0;
      for (std::int64_t b = 0; b < batch && t < seq; ++b) sum += dx[b * seq + t][c];
      store(dpositions[t][c], sum, op.accumulate_positions);
    }
  }
}

template <typename Element>
void embed_backward(const EmbeddingBackward& op) {
  const std::int64_t hidden = op.dtable.shape()[1];
  const auto dx = input<Element>(op.dx, op.tokens.shape().elements(), hidden);
  table_backward(op, dx, hidden);
  if (op.dpositions != nullptr) positions_backward(op, dx, hidden);
}

}  // namespace

void CpuDevice::run(const EmbeddingForward& op) {
  with_element(op.x.format(), [&op](auto e) { embed<decltype(e)>(op); });
}

void CpuDevice::run(const EmbeddingBackward& op) {
  with_element(op.dx.format(), [&op](auto e) { embed_backward<decltype(e)>(op); });
}

}  // namespace vramfit
