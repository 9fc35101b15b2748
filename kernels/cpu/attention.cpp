#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/cpu_device.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

template <typename Element>
class Forward {
  using Sum = Accumulator<Element>;

 public:
  explicit Forward(const AttentionForward& op)
      : shape_(op.shape),
        qkv_(input<Element>(op.qkv, shape_.tokens() * shape_.qkv_width()), shape_),
        out_(output<Element>(op.out, shape_.tokens(), shape_.q_width())),
        log_sum_exp_(output<Sum>(op.log_sum_exp, shape_.tokens() * shape_.heads)),
        probabilities_(
            output<Element>(op.probabilities, shape_.tokens() * shape_.heads * shape_.seq)) {
    const bool cublas = op.form == AttentionForm::Cublas;
    require(cublas == (probabilities_ != nullptr), "the cublas form, and it alone, keeps them");
    require(!cublas || log_sum_exp_ == nullptr, "the cublas form has no use for statistics");
  }

  /// Token t of a head attends to the tokens up to itself.
  void attend(std::int64_t b, std::int64_t head, std::int64_t t) const {
    const std::int64_t kv_head = kv_head_of(shape_, head);
    const Element* query = qkv_.queries(b, head)[t];
    const Matrix<const Element> keys = qkv_.keys(b, kv_head);
    const std::int64_t row = (b * shape_.heads + head) * shape_.seq + t;
    const Sum statistic = log_sum_exp<Element>(query, keys, t + 1, shape_.head_dim);
    if (log_sum_exp_ != nullptr) log_sum_exp_[row] = statistic;

    Element* kept = probabilities_ == nullptr ? nullptr : probabilities_ + row * shape_.seq;
    const auto probability = [&](std::int64_t s) {
      const Sum p = std::exp(attention_score<Element>(query, keys[s], shape_.head_dim) - statistic);
      if (kept == nullptr) return p;
      kept[s] = static_cast<Element>(p);
      return static_cast<Sum>(kept[s]);
    };
    Element* out = out_[b * shape_.seq + t] + head * shape_.head_dim;
    weighted_sum<Element>(out, qkv_.values(b, kv_head), t + 1, shape_.head_dim, probability);
    for (std::int64_t s = t + 1; kept != nullptr && s < shape_.seq; ++s) kept[s] = Element{};
  }

 private:
  const AttentionShape shape_;
  const QkvHeads<const Element> qkv_;
  const Matrix<Element> out_;
  Sum* log_sum_exp_;
  Element* probabilities_;
};

/// With P the probabilities, dP = dO Vᵀ and D the row sums of P · dP, which are those of dO · O:
/// dS = P · (dP − D);  dQ = dS K / √d;  dK = dSᵀ Q / √d;  dV = Pᵀ dO.
template <typename Element>
class Backward {
  using Sum = Accumulator<Element>;

 public:
  explicit Backward(const AttentionBackward& op)
      : shape_(op.shape),
        qkv_(input<Element>(op.qkv, shape_.tokens() * shape_.qkv_width()), shape_),
        dqkv_(output<Element>(op.dqkv, shape_.tokens() * shape_.qkv_width()), shape_),
        out_(input<Element>(op.out, shape_.tokens(), shape_.q_width())),
        dout_(input<Element>(op.dout, shape_.tokens(), shape_.q_width())),
        log_sum_exp_(input<Sum>(op.log_sum_exp, shape_.tokens() * shape_.heads)),
        probabilities_(
            input<Element>(op.probabilities, shape_.tokens() * shape_.heads * shape_.seq)),
        dscores_(output<Element>(op.dscores, shape_.tokens() * shape_.heads * shape_.seq)),
        scale_(1 / std::sqrt(static_cast<Sum>(shape_.head_dim))) {
    const bool cublas = op.form == AttentionForm::Cublas;
    require(cublas == (probabilities_ != nullptr) && cublas == (dscores_ != nullptr) &&
                cublas == (log_sum_exp_ == nullptr),
            "flash attention goes back from statistics, the cublas form from probabilities");
    require_workspace(op.workspace,
                      attention_backward_workspace_bytes(op.form, shape_, op.qkv.format()));
  }

  void run() const {
    if (dscores_ != nullptr) {
      for_each_head(shape_.batch, shape_.heads,
                    [this](std::int64_t b, std::int64_t head) { fill_dscores(b, head); });
    }
    for_each_head(shape_.batch, shape_.heads,
                  [this](std::int64_t b, std::int64_t head) { fill_dqueries(b, head); });
    for_each_head(shape_.batch, shape_.kv_heads, [this](std::int64_t b, std::int64_t kv_head) {
      fill_dkeys_and_dvalues(b, kv_head);
    });
  }

 private:
  std::int64_t row(std::int64_t b, std::int64_t head, std::int64_t t) const {
    return (b * shape_.heads + head) * shape_.seq + t;
  }
  const Element* dout(std::int64_t b, std::int64_t head, std::int64_t t) const {
    return dout_[b * shape_.seq + t] + head * shape_.head_dim;
  }

  Sum probability(std::int64_t b, std::int64_t head, std::int64_t t, std::int64_t s) const {
    if (probabilities_ != nullptr) return probabilities_[row(b, head, t) * shape_.seq + s];
    const Element* key = qkv_.keys(b, kv_head_of(shape_, head))[s];
    return std::exp(attention_score<Element>(qkv_.queries(b, head)[t], key, shape_.head_dim) -
                    log_sum_exp_[row(b, head, t)]);
  }

  Sum dprobability(std::int64_t b, std::int64_t head, std::int64_t t, std::int64_t s) const {
    const Element* value = qkv_.values(b, kv_head_of(shape_, head))[s];
    return dot(dout(b, head, t), 1, value, 1, shape_.head_dim);
  }

  Sum dscore(std::int64_t b, std::int64_t head, std::int64_t t, std::int64_t s) const {
    if (dscores_ != nullptr) return dscores_[row(b, head, t) * shape_.seq + s];
    const Element* out = out_[b * shape_.seq + t] + head * shape_.head_dim;
    const Sum row_sum = dot(dout(b, head, t), 1, out, 1, shape_.head_dim);
    return probability(b, head, t, s) * (dprobability(b, head, t, s) - row_sum);
  }

  /// Zero above the diagonal, as the probabilities are.
  void fill_dscores(std::int64_t b, std::int64_t head) const {
    for (std::int64_t t = 0; t < shape_.seq; ++t) {
      Sum row_sum = 0;
      for (std::int64_t s = 0; s <= t; ++s) {
        row_sum += probability(b, head, t, s) * dprobability(b, head, t, s);
      }
      Element* to = dscores_ + row(b, head, t) * shape_.seq;
      for (std::int64_t s = 0; s < shape_.seq; ++s) {
        to[s] = static_cast<Element>(probability(b, head, t, s) *
                                     (dprobability(b, head, t, s) - row_sum));
      }
    }
  }

  void fill_dqueries(std::int64_t b, std::int64_t head) const {
    const Matrix<const Element> keys = qkv_.keys(b, kv_head_of(shape_, head));
    for (std::int64_t t = 0; t < shape_.seq; ++t) {
      weighted_sum<Element>(dqkv_.queries(b, head)[t], keys, t + 1, shape_.head_dim,
                            [&](std::int64_t s) { return dscore(b, head, t, s) * scale_; });
    }
  }

  /// Position s is read by the tokens from it on, in every query head of its group.
  void fill_dkeys_and_dvalues(std::int64_t b, std::int64_t kv_head) const {
    const std::int64_t group = shape_.heads / shape_.kv_heads;
    for (std::int64_t s = 0; s < shape_.seq; ++s) {
      std::array<Sum, static_cast<std::size_t>(kMaxHeadDim)> dkey{};
      std::array<Sum, static_cast<std::size_t>(kMaxHeadDim)> dvalue{};
      for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
        for (std::int64_t t = s; t < shape_.seq; ++t) {
          add_scaled(dkey, dscore(b, head, t, s) * scale_, qkv_.queries(b, head)[t]);
          add_scaled(dvalue, probability(b, head, t, s), dout(b, head, t));
        }
      }
      for (std::int64_t i = 0; i < shape_.head_dim; ++i) {
        const auto index = static_cast<std::size_t>(i);
        dqkv_.keys(b, kv_head)[s][i] = static_cast<Element>(dkey[index]);
        dqkv_.values(b, kv_head)[s][i] = static_cast<Element>(dvalue[index]);
      }
    }
  }

  template <typename Sums>
  void add_scaled(Sums& sums, Sum factor, const Element* vector) const {
    for (std::int64_t i = 0; i < shape_.head_dim; ++i) {
      sums[static_cast<std::size_t>(i)] += factor * static_cast<Sum>(vector[i]);
    }
  }

  const AttentionShape shape_;
  const QkvHeads<const Element> qkv_;
  const QkvHeads<Element> dqkv_;
  const Matrix<const Element> out_;
  const Matrix<const Element> dout_;
  const Sum* log_sum_exp_;
  const Element* probabilities_;
  Element* dscores_;
  const Sum scale_;
};

template <typename Element>
void forward(const AttentionForward& op) {
  const Forward<Element> attention(op);
  for_each_head(op.shape.batch, op.shape.heads, [&](std::int64_t b, std::int64_t head) {
    for (std::int64_t t = 0; t < op.shape.seq; ++t) attention.attend(b, head, t);
  });
}

}  // namespace

void CpuDevice::run(const AttentionForward& op) {
  require_workspace(op.workspace,
                    attention_forward_workspace_bytes(op.form, op.shape, op.qkv.format()));
  with_element(op.qkv.format(), [&op](auto e) { forward<decltype(e)>(op); });
}

void CpuDevice::run(const AttentionBackward& op) {
  with_element(op.qkv.format(), [&op](auto e) { Backward<decltype(e)>(op).run(); });
}

}  // namespace vramfit
