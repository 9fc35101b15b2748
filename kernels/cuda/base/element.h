#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <library_types.h>

#include <string>

#include "model/errors.h"
#include "model/format.h"

namespace vramfit::gpu {

/// The GPU's type of a format's elements, and what NVIDIA's libraries call it. Those that are
/// missing are refused.
template <DType>
struct GpuElement {
  using Type = void;
};
template <>
struct GpuElement<DType::Fp32> {
  using Type = float;
  static constexpr cudaDataType_t kLibrary = CUDA_R_32F;
};
template <>
struct GpuElement<DType::Fp16> {
  using Type = __half;
  static constexpr cudaDataType_t kLibrary = CUDA_R_16F;
};
template <>
struct GpuElement<DType::Bf16> {
  using Type = __nv_bfloat16;
  static constexpr cudaDataType_t kLibrary = CUDA_R_16BF;
};

/// Calls `body` with the GpuElement of the format's elements.
template <typename Body>
void with_gpu_element(Format format, const Body& body) {
  bool runs = false;
  with_plain_element(format, [&](auto dtype) {
    using Element = GpuElement<decltype(dtype)::value>;
    if constexpr (!std::is_void_v<typename Element::Type>) {
      runs = true;
      body(Element{});
    }
  });
  if (runs) return;
  throw BadInput(std::string("precision: is ") + format.name() +
                 "; CUDA devices run fp32, fp16 and bf16");
}

/// Calls `body` with a value of the type.
template <typename Body>
void with_element(Format format, const Body& body) {
  with_gpu_element(format, [&](auto element) { body(typename decltype(element)::Type{}); });
}

/// As cuBLASLt calls it.
inline cudaDataType_t library_type(Format format) {
  if (format == Format(DType::Fp8)) return CUDA_R_8F_E4M3;
  cudaDataType_t type{};
  with_gpu_element(format, [&](auto element) { type = decltype(element)::kLibrary; });
  return type;
}

}  // namespace vramfit::gpu
