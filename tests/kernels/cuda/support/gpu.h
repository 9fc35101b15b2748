#pragma once

#include <gtest/gtest.h>

#include "kernels/cuda/device/cuda_device.h"
#include "kernels/cuda/gpu/gpu_info.h"

/// Ends a test where there is nothing to run it on.
#define VRAMFIT_NEEDS_GPU()                                       \
  if (!vramfit::gpu_present()) GTEST_SKIP() << "skipped: no GPU"; \
  static_assert(true, "a semicolon follows")

namespace vramfit {

/// One device for all of a program's tests: contexts, handles and attention plans take seconds.
CudaDevice& gpu();

}  // namespace vramfit
