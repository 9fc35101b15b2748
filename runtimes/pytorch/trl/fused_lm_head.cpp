#include "runtimes/pytorch/trl/fused_lm_head.h"

#include <algorithm>
#include <vector>

#include "runtimes/pytorch/torch/ops/binary.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/index.h"
#include "runtimes/pytorch/torch/ops/reduction.h"
#include "runtimes/pytorch/torch/ops/unary.h"
#include "runtimes/pytorch/torch/ops/view.h"

namespace vramfit::pytorch {
namespace {

constexpr std::int64_t kTokens = 4096;  ///< of a tile: TOKEN_CHUNK_SIZE
constexpr std::int64_t kWords = 32768;  ///< _CHUNKED_LOGPROB_CHUNK_SIZE

/// Rows of a matrix that nobody wants a gradient of, in the type that is computed in.
Tensor rows_in(const Tensor& matrix, std::int64_t first, std::int64_t most, ScalarType type) {
  const std::int64_t rows = std::min(most, matrix.size(0) - first);
  return to(as_strided(matrix.detach(), {rows, matrix.size(1)}, matrix.strides()), type);
}

Tensor tile_buffer(const Tensor& hidden, ScalarType type) {
  return empty(hidden.context(), {std::min(hidden.size(0), kTokens), kWords}, type,
               Category::Workspace);
}

struct LogProbs {
  Tensor log_probs;
  Tensor entropy;
  Tensor is_top1;
};

/// What backward starts from.
struct ChunkedLogProbBackward {
  Saved hidden, weight, targets, log_z, entropy;
  ScalarType compute;

  Gradients operator()(Node& self, Gradients& grads) {
    const Tensor rows = hidden.unpack();
    const Tensor head = weight.unpack();
    Context& context = rows.context();
    const auto sums_like = [&](const Tensor& tensor, int input) {
      return self.wants(input) ? empty(context, tensor.sizes(), ScalarType::Float) : Tensor();
    };
    const Tensor grad_hidden = sums_like(rows, 0);
    const Tensor grad_weight = sums_like(head, 1);
    const Tensor tile = tile_buffer(rows, compute);
    const Tensor given = contiguous(to(grads[0], ScalarType::Float));
    Tensor tokens;
    Tensor words;
    for (std::int64_t token = 0; token < rows.size(0); token += kTokens) {
      tokens = rows_in(rows, token, kTokens, compute);
      for (std::int64_t word = 0; word < head.size(0); word += kWords) {
        words = rows_in(head, word, kWords, compute);
        // The tile's logits once more, then what they give to both sums.
        for (int product = 0; product < 1 + self.wants(0) + self.wants(1); ++product) {
          context.cublas.use(context);
        }
      }
    }
    Gradients result;
    if (self.wants(0)) result[0] = to(grad_hidden, rows.type());
    if (self.wants(1)) result[1] = to(grad_weight, head.type());
    return result;
  }
};

/// ChunkedLogProbFunction.apply, of hidden states and targets, a row a token.
LogProbs chunked_log_probs(const Tensor& hidden, const Tensor& weight, const Tensor& targets) {
  Context& context = hidden.context();
  const ScalarType compute = context.autocast.state().value_or(hidden.type());
  LogProbs result;
  Tensor log_z;
  {
    const Setting no_grad(context.grad_enabled, false);
    // running_max, sum_exp, x_sum_exp, sq_sum_exp, z_sum, max_before_target, target_logit
    constexpr int kSums = 7;
    std::vector<Tensor> sums;
    for (int i = 0; i < kSums; ++i) {
      sums.push_back(empty(context, {hidden.size(0)}, ScalarType::Float));
    }
    const Tensor tile = tile_buffer(hidden, compute);
    Tensor tokens;
    for (std::int64_t token = 0; token < hidden.size(0); token += kTokens) {
      tokens = rows_in(hidden, token, kTokens, compute);
      for (std::int64_t word = 0; word < weight.size(0); word += kWords) {
        const Tensor words = rows_in(weight, word, kWords, compute);
        context.cublas.use(context);
      }
    }
    log_z = add(sums[0], log(sums[1]));
    result.log_probs = sub(sums[6], log_z);
    result.entropy = sub(log_z, div(sums[2], sums[1]));
    const Tensor is_most = pointwise_no_grad(sums[6], ScalarType::Bool);
    result.is_top1 = like(is_most, pointwise_no_grad(sums[6], ScalarType::Bool));
  }
  const auto make_backward = [&] {
    return ChunkedLogProbBackward{Saved(hidden), Saved(weight),         Saved(targets),
                                  Saved(log_z),  Saved(result.entropy), compute};
  };
  const Ref<Node> node = make_node(context, make_backward, hidden, weight);
  set_history(result.log_probs, node, 0);
  set_history(result.entropy, node, 1);
  return result;
}

}  // namespace

Tensor fused_lm_loss(const Tensor& hidden, const Tensor& weight, const Tensor& ids) {
  Context& context = hidden.context();
  const std::int64_t tokens = hidden.size(1) - 1;
  const Tensor states = slice(hidden, 1, tokens);
  const Tensor labels = slice(ids, 1, tokens);
  const Tensor mask = pointwise_no_grad(labels, ScalarType::Bool);  // != -100
  LogProbs of_tokens;
  {
    LogProbs of_rows;
    {
      const Tensor rows = index_where(states, mask);
      of_rows = chunked_log_probs(rows, weight, index_where(labels, mask));
    }
    const auto in_places = [&](const Tensor& some) {
      const Tensor zeros = empty(context, mask.sizes(), some.type());
      return masked_scatter(zeros, mask, some);
    };
    of_tokens.log_probs = in_places(of_rows.log_probs);
    of_tokens.entropy = in_places(of_rows.entropy);
    of_tokens.is_top1 = in_places(of_rows.is_top1);
  }
  constexpr DimMask kAll = 0b11;
  const Tensor loss = neg(sum(of_tokens.log_probs, kAll, false));
  return div(loss, clamp(sum(mask, kAll, false), 1));
}

}  // namespace vramfit::pytorch
