#pragma once

#include "model/transformer/projection.h"

namespace vramfit {

/// What a linear multiplies in its three products.
enum class Operand : std::uint8_t { Input, Weight, OutputGradient };

/// The scales of what a block's linears multiply in codes, from its forward pass, which finds them,
/// to its backward pass, which encodes the same once more the other way round: 208 B. Nothing where
/// linears multiply what is stored.
class CodeScales {
 public:
  CodeScales() = default;
  /// Allocated, and nothing found yet, in a run whose linears multiply codes.
  CodeScales(OpContext& context, int layer);

  explicit operator bool() const { return static_cast<bool>(values_); }
  /// CodeScale's values of one, which this outlives.
  Tensor of(Role weight, Operand operand) const;
  /// Of what the activation is computed from, which is kept in codes.
  Tensor of_kept() const { return at(kKept); }

 private:
  static constexpr std::int64_t kOperands = 3;
  static constexpr std::int64_t kKept = 4 * kOperands;
  Tensor at(std::int64_t number) const;

  Tensor values_;
};

/// x Wᵀ + bias (+ residual) into y by codes. `found`: x's largest magnitude is.
void multiply_codes(Model& model, const Projection& p, const Tensor& x, bool found,
                    const Tensor* residual, const CodeScales& scales, Tensor& y);

/// dy W into dx by codes. Returns dy's, transposed, (out, N), for the weight's gradient. `found`:
/// dy's largest magnitude is.
Tensor multiply_codes_backward(Model& model, const Projection& p, const Tensor& dy, bool found,
                               const CodeScales& scales, Tensor& dx);

/// What the activation is computed from, (N, 2f) or (N, f), in codes for its backward; its largest
/// magnitude is found.
Tensor kept_codes(OpContext& context, int layer, const Tensor& pre, const CodeScales& scales);

/// dyᵀ x, of the weight, by codes.
void multiply_codes_for_weight(Model& model, const Projection& p, const Tensor& x,
                               const Tensor& dy_codes, const CodeScales& scales);

}  // namespace vramfit
