#include "runtimes/pytorch/transformers/modules/dispatch.h"

namespace vramfit::pytorch {

Tensor moved(const Tensor& tensor) {
  if (!tensor.defined() || tensor.is_meta() == tensor.context().elsewhere) return tensor;
  const Dims strides =
      tensor.is_non_overlapping_and_dense() ? tensor.strides() : contiguous_strides(tensor.sizes());
  return empty_strided(tensor.context(), tensor.sizes(), strides, tensor.type());
}

}  // namespace vramfit::pytorch
