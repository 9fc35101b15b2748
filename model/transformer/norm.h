#pragma once

#include <optional>

#include "model/transformer/projection.h"

namespace vramfit {

/// A norm's parameters; RMSNorm has no bias.
struct Norm {
  Role weight;
  Role bias;
  int layer = -1;
};

constexpr Norm norm1_of(int layer) { return {Role::Norm1Weight, Role::Norm1Bias, layer}; }
constexpr Norm norm2_of(int layer) { return {Role::Norm2Weight, Role::Norm2Bias, layer}; }
constexpr Norm final_norm() { return {Role::FinalNormWeight, Role::FinalNormBias, -1}; }

/// What backward needs of each row beside x: 4 B, or 8 for LayerNorm.
struct NormStatistics {
  Tensor rstd;
  Tensor mean;  ///< LayerNorm only
};

/// norm(x), (N, h) → (N, h). `keep`: where the statistics go; null where none are needed.
/// `largest`: where its largest magnitude is found; null where nobody wants it.
Tensor normalize(Model& model, const Norm& norm, const Name& name, const Tensor& x,
                 NormStatistics* keep, Tensor* largest = nullptr);

/// What a linear reads: norm(x), or x itself where the linear normalises it: few rows that neither
/// backward nor adapters come back for.
class NormedInput {
 public:
  /// x, (N, h), must outlive it; `linear` reads it. `keep` as in normalize. `scales`: of a block
  /// whose linears multiply codes; null: they do not.
  NormedInput(Model& model, const Norm& norm, const Projection& linear, const Name& name,
              const Tensor& x, NormStatistics* keep, const CodeScales* scales = nullptr);

  const Tensor& rows() const { return normed_ ? normed_ : x_; }
  /// What is still to be done to them; null: nothing.
  const InputNorm* norm() const { return norm_ ? &*norm_ : nullptr; }

 private:
  const Tensor& x_;
  Tensor normed_;
  std::optional<InputNorm> norm_;
};

/// From dy, the gradient of norm(x), to dx: added to it where `accumulate`, else written.
/// Overwrites dy with norm(x). Frees x and its statistics, which nothing reads after this.
void normalize_backward(Model& model, const Norm& norm, Tensor x, NormStatistics kept, Tensor& dy,
                        Tensor& dx, bool accumulate);

}  // namespace vramfit
