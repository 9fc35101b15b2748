#pragma once

#include "model/transformer/model.h"

namespace vramfit {

class CodeScales;

/// A weight and its bias, which not every family has.
struct Projection {
  Role weight;
  Role bias;
  int layer = -1;
};

/// The four projections of a block, and the head.
constexpr Projection qkv_of(int layer) { return {Role::QkvWeight, Role::QkvBias, layer}; }
constexpr Projection out_of(int layer) { return {Role::OutWeight, Role::OutBias, layer}; }
constexpr Projection up_of(int layer) { return {Role::UpWeight, Role::UpBias, layer}; }
constexpr Projection down_of(int layer) { return {Role::DownWeight, Role::DownBias, layer}; }
inline Projection head_of(const Weights& weights) { return {weights.head_role(), Role::HeadBias}; }

/// Whether what it multiplies is quantised as its weight is.
bool quantizes_input(const Model& model, const Projection& p);

/// What a quantised linear has beside its input and weight. Holds nothing for a plain one.
class QuantizedInput {
 public:
  /// Quantises x, (N, in), where linears are told to and do not do it themselves. `p`'s weight and
  /// x must outlive it.
  QuantizedInput(Model& model, const Projection& p, const Tensor& x);

  const Tensor& rows() const { return rows_ ? rows_ : x_; }
  QuantizedOperands operands();

 private:
  const Tensor& x_;
  const Tensor* weight_scales_;
  Tensor rows_;    ///< (N, in), 8 bits
  Tensor scales_;  ///< (N)
  Tensor dequantized_;
  bool by_linear_ = false;
};

/// x Wᵀ + bias (+ residual), and what adapters add; x: (N, in) → (N, out). `norm`: what is to be
/// done to x before; there are no adapters then. `scales`: of a block whose linears multiply codes,
/// which has x's where norms and activations find it in passing.
Tensor project(Model& model, const Projection& p, const Name& name, const Tensor& x,
               const Tensor* residual = nullptr, const InputNorm* norm = nullptr,
               const CodeScales* scales = nullptr);

/// What a projection's way back to its input leaves for its weight's gradient.
struct Passed {
  Tensor du;  ///< (N, adapters · rank): of the first halves of adapters; nothing without them
  Tensor dy_codes;  ///< (out, N): dy's, transposed, where linears multiply codes
};

/// What backward gets of a projection on the way to its input.
struct InputGradient {
  Tensor dx;  ///< (N, in)
  Passed passed;
};

/// dy W, and what comes through adapters; dy: (N, out). `scales` as in project: dy's is there where
/// the activation's backward found it.
InputGradient project_backward_input(Model& model, const Projection& p, const Name& name,
                                     const Tensor& dy, const CodeScales& scales);

/// The gradients of weight and bias, or of their adapters where they are frozen; they are born here
/// where they were not there.
void project_backward_weight(Model& model, const Projection& p, const Tensor& x, const Tensor& dy,
                             const Passed& passed, const CodeScales& scales);

}  // namespace vramfit
