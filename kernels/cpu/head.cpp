#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/matrix.h"

namespace vramfit {
namespace {

template <typename Element>
class ChunkedLoss {
  using Sum = Accumulator<Element>;

 public:
  explicit ChunkedLoss(const HeadLoss& op)
      : op_(op),
        tokens_(op.hidden.shape()[0]),
        width_(op.weight.shape()[1]),
        vocab_(op.weight.shape()[0]),
        stored_(op.weight.stored()[0]),
        hidden_(output<Element>(op.hidden, tokens_, width_)),
        weight_(input<Element>(op.weight, stored_, width_)),
        targets_(input<std::int32_t>(op.targets, tokens_)),
        dweight_(output<Element>(op.dweight, stored_ * width_)),
        logits_(output<Element>(op.logits, op.chunk, stored_)),
        dweight_sum_(output<float>(op.dweight_sum, stored_ * width_)),
        dlogits_scale_(static_cast<Sum>(op.loss_weight) *
                       (op.scaler == nullptr ? Sum{1} : static_cast<Sum>(loss_scale(*op.scaler)))) {
    require(dweight_ == nullptr || dweight_sum_ != nullptr || !is_16_bit(op.weight.format()) ||
                op.chunk >= tokens_,
            "the head's gradient over several chunks is summed in fp32");
  }

  void run() {
    Sum& loss = *output<Sum>(op_.loss, 1);
    for (std::int64_t first = 0; first < tokens_; first += op_.chunk) {
      const std::int64_t count = std::min(op_.chunk, tokens_ - first);
      fill_logits(first, count);
      for (std::int64_t n = 0; n < count; ++n) loss += differentiate(logits_[n], first + n);
      if (dweight_ != nullptr) add_to_dweight(first, count);
      fill_dhidden(first, count);
    }
    if (dweight_sum_ != nullptr) round_dweight();
  }

 private:
  static float loss_scale(const Tensor& scaler) {
    return input<float>(scaler, LossScale::kValues)[LossScale::kScale];
  }

  /// The chunk's `count` tokens from `first` on.
  void fill_logits(std::int64_t first, std::int64_t count) const {
    for (std::int64_t n = 0; n < count; ++n) {
      dots(hidden_[first + n], 1, weight_[0], 1, width_, width_, stored_,
           [&](std::int64_t v, Sum sum) { logits_[n][v] = static_cast<Element>(sum); });
    }
  }

  /// Replaces a token's logits by their gradients; returns its weighted loss.
  Sum differentiate(Element* logits, std::int64_t token) const {
    const std::int32_t target = targets_[token];
    require(target >= 0 && target < vocab_, "a target lies outside the vocabulary");
    const Sum target_logit = logits[target];
    Sum largest = logits[0];
    for (std::int64_t v = 1; v < vocab_; ++v) largest = std::max<Sum>(largest, logits[v]);
    Sum sum = 0;
    for (std::int64_t v = 0; v < vocab_; ++v) sum += std::exp(logits[v] - largest);
    for (std::int64_t v = 0; v < vocab_; ++v) {
      const Sum probability = std::exp(logits[v] - largest) / sum;
      const Sum wanted = v == target ? Sum{1} : Sum{0};
      logits[v] = static_cast<Element>(dlogits_scale_ * (probability - wanted));
    }
    for (std::int64_t v = vocab_; v < stored_; ++v) logits[v] = Element{};
    return static_cast<Sum>(op_.loss_weight) * (largest + std::log(sum) - target_logit);
  }

  /// Into fp32 sums where there are any, else straight into the gradient.
  void add_to_dweight(std::int64_t first, std::int64_t count) const {
    for (std::int64_t v = 0; v < stored_; ++v) {
      const auto add = [&](std::int64_t c, Sum sum) {
        if (dweight_sum_ != nullptr) {
          store(dweight_sum_[v * width_ + c], static_cast<float>(sum), first > 0);
        } else {
          store(dweight_[v * width_ + c], sum, first > 0 || op_.accumulate_dweight);
        }
      };
      dots(logits_[0] + v, stored_, hidden_[first], width_, 1, count, width_, add);
    }
  }

  void fill_dhidden(std::int64_t first, std::int64_t count) const {
    for (std::int64_t n = 0; n < count; ++n) {
      dots(logits_[n], 1, weight_[0], width_, 1, stored_, width_,
           [&](std::int64_t c, Sum sum) { hidden_[first + n][c] = static_cast<Element>(sum); });
    }
  }

  void round_dweight() const {
    for (std::int64_t i = 0; i < stored_ * width_; ++i) {
      store(dweight_[i], static_cast<Sum>(dweight_sum_[i]), op_.accumulate_dweight);
    }
  }

  const HeadLoss& op_;
  const std::int64_t tokens_;
  const std::int64_t width_;
  const std::int64_t vocab_;
  const std::int64_t stored_;
  const Matrix<Element> hidden_;
  const Matrix<const Element> weight_;
  const std::int32_t* targets_;
  Element* dweight_;  ///< (V, h); null: frozen
  const Matrix<Element> logits_;
  float* dweight_sum_;
  const Sum dlogits_scale_;
};

template <typename Element>
void last_token(const LastToken& op) {
  const std::int64_t batch = op.out.shape()[0];
  const std::int64_t width = op.out.shape()[1];
  const auto x = input<Element>(op.x, batch * op.seq, width);
  const auto out = output<Element>(op.out, batch, width);
  const auto* counts = input<std::int32_t>(op.counts, batch);
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t count = counts == nullptr ? op.seq : counts[b];
    std::copy_n(x[b * op.seq + count - 1], width, out[b]);
  }
}

template <typename Element>
void argmax(const Argmax& op) {
  const std::int64_t batch = op.logits.shape()[0];
  const std::int64_t columns = op.logits.shape()[1];
  require(op.vocab <= columns, "there are fewer logits than tokens in the vocabulary");
  const auto logits = input<Element>(op.logits, batch, columns);
  auto* tokens = output<std::int32_t>(op.tokens, batch);
  for (std::int64_t b = 0; b < batch; ++b) {
    const auto* largest =
        std::max_element(logits[b], logits[b] + op.vocab, [](const Element& x, const Element& y) {
          return static_cast<Accumulator<Element>>(x) < static_cast<Accumulator<Element>>(y);
        });
    tokens[b] = static_cast<std::int32_t>(largest - logits[b]);
  }
}

}  // namespace

void CpuDevice::run(const HeadLoss& op) {
  with_element(op.hidden.format(), [&op](auto e) { ChunkedLoss<decltype(e)>(op).run(); });
}

void CpuDevice::run(const LastToken& op) {
  with_element(op.x.format(), [&op](auto e) { last_token<decltype(e)>(op); });
}

void CpuDevice::run(const Argmax& op) {
  with_element(op.logits.format(), [&op](auto e) { argmax<decltype(e)>(op); });
}

}  // namespace vramfit
