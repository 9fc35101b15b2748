#pragma once

#include "model/ops/linear_ops.h"

namespace vramfit {

/// LinearForward of a weight that is quantised, and of rows that may be.
void quantized_linear(const LinearForward& op);

}  // namespace vramfit
