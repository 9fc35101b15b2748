#pragma once

#include <vector>

#include "kernels/cpu/norm_row.h"
#include "model/ops/linear_ops.h"
#include "model/ops/workspaces.h"

namespace vramfit {

/// The rows that a linear multiplies: x, or its norm where the op says so.
template <typename Element>
class LinearRows {
 public:
  LinearRows(const Tensor& x, const InputNorm* norm, std::int64_t rows, std::int64_t in,
             bool quantizes = false)
      : rows_(input<Element>(x, rows, in)) {
    if (norm == nullptr) return;
    require(rows <= normed_rows(quantizes), "linear: many rows are normalised before");
    const Element* weight = input<Element>(norm->weight, in);
    const Element* bias = input<Element>(norm->bias, in);
    for (std::int64_t n = 0; n < rows; ++n) {
      const auto statistics = statistics_of(norm->kind, rows_[n], in, norm->eps);
      for (std::int64_t i = 0; i < in; ++i) {
        normalized_.push_back(scaled(statistics.normalized(rows_[n][i]), weight, bias, i));
      }
    }
    rows_ = {normalized_.data(), in};
  }
  LinearRows(const LinearRows&) = delete;
  LinearRows& operator=(const LinearRows&) = delete;

  const Element* operator[](std::int64_t row) const { return rows_[row]; }

 private:
  Matrix<const Element> rows_;
  std::vector<Element> normalized_;
};

}  // namespace vramfit
