#include <cmath>

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/matrix.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

/// Where the heads of q and k lie, and whose weight each takes.
struct NormedHeads {
  explicit NormedHeads(const AttentionShape& s)
      : tokens(s.tokens()), queries(s.heads), count(s.heads + s.kv_heads), dim(s.head_dim) {}

  std::int64_t tokens;
  std::int64_t queries;
  std::int64_t count;  ///< of a token
  std::int64_t dim;
};

template <typename Element>
void forward(const HeadNormForward& op) {
  using Sum = Accumulator<Element>;
  const NormedHeads heads(op.shape);
  require((op.x == nullptr) == (op.rstd == nullptr), "a head norm keeps its input and statistics");
  const auto qkv = output<Element>(op.qkv, heads.tokens, op.shape.qkv_width());
  const Element* q_weight = input<Element>(op.q_weight, heads.dim);
  const Element* k_weight = input<Element>(op.k_weight, heads.dim);
  Element* kept = output<Element>(op.x, heads.tokens * heads.count * heads.dim);
  Sum* rstd = output<Sum>(op.rstd, heads.tokens * heads.count);
  for (std::int64_t n = 0; n < heads.tokens; ++n) {
    for (std::int64_t head = 0; head < heads.count; ++head) {
      Element* x = qkv[n] + head * heads.dim;
      const Element* weight = head < heads.queries ? q_weight : k_weight;
      const Sum squares = dot(x, 1, x, 1, heads.dim);
      const Sum scale =
          1 / std::sqrt(squares / static_cast<Sum>(heads.dim) + static_cast<Sum>(op.eps));
      const std::int64_t number = n * heads.count + head;
      if (rstd != nullptr) rstd[number] = scale;
      for (std::int64_t c = 0; c < heads.dim; ++c) {
        if (kept != nullptr) kept[number * heads.dim + c] = x[c];
        x[c] = static_cast<Element>(static_cast<Sum>(x[c]) * scale * static_cast<Sum>(weight[c]));
      }
    }
  }
}

template <typename Element>
class Backward {
  using Sum = Accumulator<Element>;

 public:
  explicit Backward(const HeadNormBackward& op)
      : op_(op),
        heads_(op.shape),
        x_(input<Element>(op.x, heads_.tokens * heads_.count, heads_.dim)),
        rstd_(input<Sum>(op.rstd, heads_.tokens * heads_.count)),
        dqkv_(output<Element>(op.dqkv, heads_.tokens, op.shape.qkv_width())) {
    require(op.dq_weight == nullptr ||
                op.partials->shape() == head_norm_partials_shape(heads_.tokens, heads_.dim),
            "head norm partials are not head_norm_partials_shape");
  }

  void run() {
    // Weights first: each head's gradient is overwritten after that.
    if (op_.dq_weight != nullptr) {
      sum_weight(*op_.dq_weight, op_.accumulate_dq_weight, 0, heads_.queries);
      sum_weight(*op_.dk_weight, op_.accumulate_dk_weight, heads_.queries, heads_.count);
    }
    const Element* q_weight = input<Element>(op_.q_weight, heads_.dim);
    const Element* k_weight = input<Element>(op_.k_weight, heads_.dim);
    for (std::int64_t n = 0; n < heads_.tokens; ++n) {
      for (std::int64_t head = 0; head < heads_.count; ++head) {
        finish_head(n, head, head < heads_.queries ? q_weight : k_weight);
      }
    }
  }

 private:
  Element* gradient(std::int64_t n, std::int64_t head) const {
    return dqkv_[n] + head * heads_.dim;
  }
  Sum normalized(std::int64_t number, std::int64_t c) const {
    return static_cast<Sum>(x_[number][c]) * rstd_[number];
  }

  void sum_weight(const Tensor& target, bool accumulate, std::int64_t begin, std::int64_t end) {
    Element* to = output<Element>(target, heads_.dim);
    for (std::int64_t c = 0; c < heads_.dim; ++c) {
      Sum sum = 0;
      for (std::int64_t n = 0; n < heads_.tokens; ++n) {
        for (std::int64_t head = begin; head < end; ++head) {
          sum += static_cast<Sum>(gradient(n, head)[c]) * normalized(n * heads_.count + head, c);
        }
      }
      store(to[c], sum, accumulate);
    }
  }

  /// With z the normalized x and dz = dy · weight: dx = rstd · (dz − z · mean(dz · z)).
  void finish_head(std::int64_t n, std::int64_t head, const Element* weight) {
    Element* d = gradient(n, head);
    const std::int64_t number = n * heads_.count + head;
    const auto dz = [&](std::int64_t c) {
      return static_cast<Sum>(d[c]) * static_cast<Sum>(weight[c]);
    };
    Sum along_z = 0;
    for (std::int64_t c = 0; c < heads_.dim; ++c) along_z += dz(c) * normalized(number, c);
    along_z /= static_cast<Sum>(heads_.dim);
    for (std::int64_t c = 0; c < heads_.dim; ++c) {
      d[c] = static_cast<Element>(rstd_[number] * (dz(c) - normalized(number, c) * along_z));
    }
  }

  const HeadNormBackward& op_;
  const NormedHeads heads_;
  const Matrix<const Element> x_;
  const Sum* rstd_;
  const Matrix<Element> dqkv_;
};

}  // namespace

void CpuDevice::run(const HeadNormForward& op) {
  with_element(op.qkv.format(), [&op](auto e) { forward<decltype(e)>(op); });
}

void CpuDevice::run(const HeadNormBackward& op) {
  with_element(op.x.format(), [&op](auto e) { Backward<decltype(e)>(op).run(); });
}

}  // namespace vramfit
