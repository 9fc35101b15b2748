#include "tests/kernels/cuda/support/gpu.h"

namespace vramfit {

CudaDevice& gpu() {
  // Never destroyed: the driver may be gone when statics are.
  static auto* const device = new CudaDevice;
  return *device;
}

}  // namespace vramfit
