#include "kernels/cuda/attention/attention_cublas.h"

#include <cmath>

#include "kernels/cuda/base/launch.h"

namespace vramfit {
namespace {

/// The matrices of one sequence, batched over its key/value heads: of each group of query heads the
/// one numbered `member`.
class Heads {
 public:
  Heads(const AttentionShape& shape, std::int64_t sequence, std::int64_t member)
      : shape_(shape), group_(shape.heads / shape.kv_heads), sequence_(sequence), member_(member) {}

  GemmMatrix queries(const Tensor& qkv) const {
    return rows_of(qkv, shape_.qkv_width(), member_ * shape_.head_dim, group_ * shape_.head_dim);
  }
  GemmMatrix keys(const Tensor& qkv) const {
    return rows_of(qkv, shape_.qkv_width(), shape_.q_width(), shape_.head_dim);
  }
  GemmMatrix values(const Tensor& qkv) const {
    return rows_of(qkv, shape_.qkv_width(), shape_.q_width() + shape_.kv_width(), shape_.head_dim);
  }
  /// Of `out` or its gradient: (T, d) each.
  GemmMatrix outputs(const Tensor& out) const {
    return rows_of(out, shape_.q_width(), member_ * shape_.head_dim, group_ * shape_.head_dim);
  }
  /// (T, T) each.
  GemmMatrix scores(const Tensor& scores) const {
    const std::int64_t size = shape_.seq * shape_.seq;
    GemmMatrix matrix =
        GemmMatrix::of(scores, shape_.seq, shape_.seq, (sequence_ * shape_.heads + member_) * size);
    matrix.batch_step = group_ * size;
    return matrix;
  }

 private:
  GemmMatrix rows_of(const Tensor& tensor, std::int64_t width, std::int64_t first,
                     std::int64_t batch_step) const {
    auto* data =
        tensor.as<std::byte>() + tensor.format().bytes(sequence_ * shape_.seq * width + first);
    return {data, tensor.format(), shape_.seq, shape_.head_dim, width, batch_step};
  }

  const AttentionShape& shape_;
  const std::int64_t group_;
  const std::int64_t sequence_;
  const std::int64_t member_;
};

template <typename Body>
void for_each_batch(const AttentionShape& shape, const Body& body) {
  for (std::int64_t sequence = 0; sequence < shape.batch; ++sequence) {
    for (std::int64_t member = 0; member < shape.heads / shape.kv_heads; ++member) {
      body(Heads(shape, sequence, member), member > 0);
    }
  }
}

float scale_of(const AttentionShape& shape) {
  return 1.0F / std::sqrt(static_cast<float>(shape.head_dim));
}

}  // namespace

void attend_by_gemms(const AttentionForward& op, GemmRunner& gemms, cudaStream_t stream) {
  const std::int64_t batch = op.shape.kv_heads;
  Tensor& scores = *op.probabilities;
  for_each_batch(op.shape, [&](const Heads& heads, bool) {
    // Scaled before they are rounded: fp16 would overflow.
    gemms.run({heads.queries(op.qkv), heads.keys(op.qkv).transpose(), heads.scores(scores), nullptr,
               nullptr, scale_of(op.shape), batch},
              op.gemm_workspace);
  });
  launch(AttentionSoftmax{op.shape, 1.0F, scores}, stream);
  for_each_batch(op.shape, [&](const Heads& heads, bool) {
    gemms.run({heads.scores(scores), heads.values(op.qkv), heads.outputs(op.out), nullptr, nullptr,
               1.0F, batch},
              op.gemm_workspace);
  });
}

void attend_by_gemms(const AttentionBackward& op, GemmRunner& gemms, cudaStream_t stream) {
  const std::int64_t batch = op.shape.kv_heads;
  const float scale = scale_of(op.shape);
  Tensor& dscores = *op.dscores;
  for_each_batch(op.shape, [&](const Heads& heads, bool) {
    gemms.run({heads.outputs(op.dout), heads.values(op.qkv).transpose(), heads.scores(dscores),
               nullptr, nullptr, 1.0F, batch},
              op.gemm_workspace);
  });
  launch(AttentionSoftmaxBackward{op.shape, 1.0F, *op.probabilities, dscores}, stream);
  const auto add = [&](const GemmMatrix& a, const GemmMatrix& b, const GemmMatrix& to, float factor,
                       bool accumulate) {
    gemms.run({a, b, to, accumulate ? to.data : nullptr, nullptr, factor, batch},
              op.gemm_workspace);
  };
  for_each_batch(op.shape, [&](const Heads& heads, bool accumulate) {
    const GemmMatrix dscore = heads.scores(dscores);
    const GemmMatrix probability = heads.scores(*op.probabilities);
    add(dscore, heads.keys(op.qkv), heads.queries(op.dqkv), scale, false);
    add(dscore.transpose(), heads.queries(op.qkv), heads.keys(op.dqkv), scale, accumulate);
    add(probability.transpose(), heads.outputs(op.dout), heads.values(op.dqkv), 1.0F, accumulate);
  });
}

}  // namespace vramfit
