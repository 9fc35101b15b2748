#pragma once

#include <cstdint>

namespace vramfit {

/// What a driver loads onto a card as a program that runs PyTorch first needs it.
enum class DriverCode : std::uint8_t {
  FirstKernel,  ///< the program has its first segment by then
  Asserts,      ///< for kernels that may report a failed assertion
  Blas,         ///< cuBLAS with its first handle
  BlasHandle,   ///< a further one
  Attention,
  BackwardAttention,
  Other,  ///< none of it lies among the segments
};

}  // namespace vramfit
