#pragma once

#include "model/format.h"

namespace vramfit {

/// What a run stores its tensors in, by what they are for.
struct Precisions {
  Format weights;      ///< but for those that have a line of their own
  Format activations;  ///< and their gradients
  Format gradients;    ///< of weights
  Format cache;
  Format optimizer_states;  ///< moments
  Format accumulation;      ///< sums, row statistics, master weights
  Format linears;           ///< weights of the blocks' projections
  Format linear_inputs;     ///< what multiplies them
  Format head;
  Format products;  ///< what linears that are trained multiply, and the gradients of their outputs

  /// Whether linears that are trained multiply codes of 8 bits, made of what is stored.
  constexpr bool multiplies_codes() const { return is_quantized(products); }

  /// One for all, with sums and moments in what sums over it are kept in.
  static constexpr Precisions plain(DType dtype) {
    const Format sums = accumulation_dtype(dtype);
    return {dtype, dtype, dtype, dtype, sums, sums, dtype, dtype, dtype, dtype};
  }
};

}  // namespace vramfit
