#pragma once

#include <functional>
#include <vector>

#include "model/memory/tensor.h"

namespace vramfit {

/// Σ a · b over all elements that the tensors store: a scalar whose gradient by `a` is `b`.
double inner_product(const Tensor& a, const Tensor& b);

/// Expects `gradient` to be the derivative of `objective` by each of the first elements that `x`
/// (fp64) stores, as many as the gradient has, against central differences. `objective` reads `x`
/// anew at every call.
void expect_gradient(const Tensor& x, const std::vector<double>& gradient,
                     const std::function<double()>& objective);

/// ‖a − b‖₂ / ‖b‖₂; infinite where `a` is not finite or the sizes differ.
double relative_error(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace vramfit
