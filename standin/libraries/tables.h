#pragma once

#include <span>
#include <string_view>

#include "standin/calls/answers.h"

// Each file's answers. What is said to be silent does nothing and succeeds.
namespace vramfit::standin {

std::span<const Answer> runtime_device_answers();
std::span<const Answer> runtime_memory_answers();
std::span<const Answer> runtime_stream_answers();
std::span<const Answer> runtime_kernel_answers();
std::span<const Answer> runtime12_answers();
std::span<const Answer> runtime13_answers();
std::span<const std::string_view> runtime_silent();

std::span<const Answer> driver_answers();
std::span<const Answer> driver_memory_answers();
std::span<const Answer> driver_module_answers();
std::span<const std::string_view> driver_silent();

std::span<const Answer> cublas_answers();
std::span<const Answer> cublaslt_answers();
std::span<const Answer> cudnn_answers();
std::span<const std::string_view> cudnn_silent();
std::span<const Answer> nccl_answers();
std::span<const Answer> nvml_answers();
std::span<const Answer> nvrtc_answers();
std::span<const Answer> math_answers();  ///< cuFFT, cuRAND, cuSOLVER, cuSPARSE

}  // namespace vramfit::standin
