#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/matrix.h"
#include "kernels/cpu/optimizer_rules.h"
#include "model/ops/optimizer_ops.h"

namespace vramfit {

/// A parameter that Adafactor updates, as _single_tensor_adafactor of torch/optim/_adafactor.py
/// does. Of a matrix v is (column's mean · row's mean) / mean of all, and sums are of fp64.
template <typename Element>
class FactoredUpdate {
  using Sum = Accumulator<Element>;

 public:
  FactoredUpdate(const OptimizerStep& op, const ParameterUpdate& update)
      : op_(op),
        matrix_(is_factored(op.kind, update.parameter->shape())),
        columns_(matrix_ ? update.parameter->shape()[1] : 1),
        count_(update.parameter->shape().elements()),
        stored_(variance_shape(op.kind, update.parameter->stored()).elements()),
        decays_(update.decays),
        parameter_(output<Element>(*update.parameter, update.parameter->stored().elements())),
        gradient_(input<Element>(*update.gradient, update.gradient->stored().elements())),
        variance_(output<Sum>(update.variance, stored_)) {
    require(update.momentum == nullptr && update.master == nullptr && variance_ != nullptr,
            "an update has other states than its optimizer keeps");
  }

  void initialize() const { std::fill_n(variance_, stored_, Sum{0}); }

  void take_step(const StepFactors<Sum>& factors) const {
    const OptimizerSettings& s = op_.settings;
    const double step = op_.step;
    const double rate = std::min(double{s.learning_rate}, 1 / std::sqrt(step));
    const double size =
        std::max(double{s.least_rms},
                 rms([this](std::int64_t i) { return static_cast<Sum>(parameter_[i]); }));
    move_variance(std::pow(step, double{s.beta2_decay}), factors.inverse_scale);
    const Sum of_rows = matrix_ ? 1 / std::max(mean_of_rows(), kEps) : 1;
    const auto update = [&](std::int64_t i) {
      const Sum g = static_cast<Sum>(gradient_[i]) * factors.inverse_scale;
      return g / std::sqrt(std::max(variance(i, of_rows), kEps * kEps));
    };
    const double clipped = std::max(1.0, rms(update) / double{s.clipping});
    const auto scale = static_cast<Sum>(size * rate / clipped);
    const auto keeps =
        static_cast<Sum>(decays_ ? 1 - double{s.learning_rate} * double{s.weight_decay} : 1);
    for (std::int64_t i = 0; i < count_; ++i) {
      parameter_[i] =
          static_cast<Element>(static_cast<Sum>(parameter_[i]) * keeps - scale * update(i));
    }
  }

 private:
  static constexpr Sum kEps = std::numeric_limits<Sum>::epsilon();

  std::int64_t rows() const { return count_ / columns_; }

  template <typename Value>
  double rms(const Value& value) const {
    double sum = 0;
    for (std::int64_t i = 0; i < count_; ++i) sum += std::pow(static_cast<double>(value(i)), 2);
    return std::sqrt(sum / static_cast<double>(count_));
  }

  /// `share`: the gradient's, of what the means become.
  void move_variance(double share, Sum inverse_scale) const {
    const auto move = [share](Sum& to, double now) {
      to = static_cast<Sum>(to + (now - static_cast<double>(to)) * share);
    };
    const auto square = [&](std::int64_t i) {
      return std::pow(static_cast<double>(static_cast<Sum>(gradient_[i]) * inverse_scale), 2);
    };
    if (!matrix_) {
      for (std::int64_t i = 0; i < count_; ++i) move(variance_[i], square(i));
      return;
    }
    for (std::int64_t column = 0; column < columns_; ++column) {
      double sum = 0;
      for (std::int64_t row = 0; row < rows(); ++row) sum += square(row * columns_ + column);
      move(variance_[column], sum / static_cast<double>(rows()));
    }
    for (std::int64_t row = 0; row < rows(); ++row) {
      double sum = 0;
      for (std::int64_t column = 0; column < columns_; ++column) {
        sum += square(row * columns_ + column);
      }
      move(variance_[columns_ + row], sum / static_cast<double>(columns_));
    }
  }

  Sum mean_of_rows() const {
    double sum = 0;
    for (std::int64_t row = 0; row < rows(); ++row) sum += variance_[columns_ + row];
    return static_cast<Sum>(sum / static_cast<double>(rows()));
  }

  Sum variance(std::int64_t i, Sum of_rows) const {
    if (!matrix_) return variance_[i];
    return variance_[columns_ + i / columns_] * of_rows * variance_[i % columns_];
  }

  const OptimizerStep& op_;
  const bool matrix_;
  const std::int64_t columns_;
  const std::int64_t count_;   ///< without padding, which is zero and stays so
  const std::int64_t stored_;  ///< of variance
  const bool decays_;
  Element* parameter_;
  const Element* gradient_;
  Sum* variance_;
};

}  // namespace vramfit
