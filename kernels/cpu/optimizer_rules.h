#pragma once

#include <cmath>

#include "model/optimizer/optimizer_kind.h"

namespace vramfit {

/// What all of a step's elements have in common.
template <typename Sum>
struct StepFactors {
  Sum inverse_scale;  ///< of the gradients; 1 without a loss scale
  Sum correction1;    ///< Adam's 1 − β1^step
  Sum correction2;    ///< 1 − β2^step
};

/// One element's weight, states and gradient, in the accumulation dtype.
template <typename Sum>
struct ElementUpdate {
  Sum weight;
  Sum momentum;
  Sum variance;
  Sum gradient;
};

template <typename Sum>
void sgd(const OptimizerSettings& s, bool keeps_velocity, ElementUpdate<Sum>& e) {
  e.momentum = keeps_velocity ? static_cast<Sum>(s.momentum) * e.momentum + e.gradient : e.gradient;
  e.weight -= static_cast<Sum>(s.learning_rate) * e.momentum;
}

/// The step is taken from m and v before they are rounded to what they are stored in: a v that
/// underflows in 16 bits then still bounds the step by the gradient at hand.
template <typename Sum>
void adamw(const OptimizerSettings& s, const StepFactors<Sum>& factors, bool decays,
           ElementUpdate<Sum>& e) {
  const auto beta1 = static_cast<Sum>(s.beta1);
  const auto beta2 = static_cast<Sum>(s.beta2);
  const auto rate = static_cast<Sum>(s.learning_rate);
  e.momentum = beta1 * e.momentum + (1 - beta1) * e.gradient;
  e.variance = beta2 * e.variance + (1 - beta2) * e.gradient * e.gradient;
  if (decays) e.weight -= rate * static_cast<Sum>(s.weight_decay) * e.weight;
  const Sum deviation = std::sqrt(e.variance / factors.correction2) + static_cast<Sum>(s.eps);
  e.weight -= rate * (e.momentum / factors.correction1) / deviation;
}

/// The step is the sign of what momentum would become with beta1.
template <typename Sum>
void lion(const OptimizerSettings& s, bool decays, ElementUpdate<Sum>& e) {
  const auto beta1 = static_cast<Sum>(s.beta1);
  const auto beta2 = static_cast<Sum>(s.beta2);
  const auto rate = static_cast<Sum>(s.learning_rate);
  const Sum direction = beta1 * e.momentum + (1 - beta1) * e.gradient;
  e.momentum = beta2 * e.momentum + (1 - beta2) * e.gradient;
  if (decays) e.weight -= rate * static_cast<Sum>(s.weight_decay) * e.weight;
  if (direction != 0) e.weight -= direction > 0 ? rate : -rate;
}

template <typename Sum>
void update(const OptimizerKind& kind, const OptimizerSettings& settings,
            const StepFactors<Sum>& factors, bool decays, ElementUpdate<Sum>& e) {
  e.gradient *= factors.inverse_scale;
  switch (kind.rule) {
    case OptimizerKind::Rule::Sgd:
      return sgd(settings, kind.moments > 0, e);
    case OptimizerKind::Rule::AdamW:
      return adamw(settings, factors, decays, e);
    case OptimizerKind::Rule::Lion:
      return lion(settings, decays, e);
    case OptimizerKind::Rule::Adafactor:
      break;  // of whole parameters: FactoredUpdate
  }
}

}  // namespace vramfit
