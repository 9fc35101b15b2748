#pragma once

#include <cstdint>

#include "model/memory/tensor.h"

namespace vramfit {

/// A quantised weight, (out, in), read element by element.
class QuantizedWeight {
 public:
  /// `scales`: of rows. Throws std::logic_error where they are not what Quantize writes.
  QuantizedWeight(const Tensor& weight, const Tensor* scales);

  /// What a row's codes are multiplied by: 1 where blocks have a scale.
  float row_scale(std::int64_t row) const { return scales_ == nullptr ? 1.0F : scales_[row]; }
  /// What a code stands for, and the scale of its block: 1 where its row has one.
  struct Value {
    float code;
    float scale;
  };
  Value value(std::int64_t row, std::int64_t column) const;

 private:
  const Tensor& weight_;
  const float* scales_;
  std::int64_t columns_;
};

}  // namespace vramfit
