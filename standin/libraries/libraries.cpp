#include "standin/calls/answers.h"
#include "standin/libraries/tables.h"

namespace vramfit::standin {
namespace {

constexpr std::string_view kCudaNames[] = {"cuda", "__cuda"};
constexpr std::string_view kDriverNames[] = {"cu"};
constexpr std::string_view kCublasLtNames[] = {"cublasLt"};
constexpr std::string_view kCublasNames[] = {"cublas"};
constexpr std::string_view kCudnnNames[] = {"cudnn"};
constexpr std::string_view kNcclNames[] = {"nccl", "pnccl"};
constexpr std::string_view kNvmlNames[] = {"nvml"};
constexpr std::string_view kNvrtcNames[] = {"nvrtc"};
constexpr std::string_view kCufftNames[] = {"cufft"};
constexpr std::string_view kCurandNames[] = {"curand"};
constexpr std::string_view kCusolverNames[] = {"cusolver"};
constexpr std::string_view kCusparseLtNames[] = {"cusparseLt"};
constexpr std::string_view kCusparseNames[] = {"cusparse"};
constexpr std::string_view kCufileNames[] = {"cuFile"};
constexpr std::string_view kCuptiNames[] = {"cupti"};
constexpr std::string_view kJitLinkNames[] = {"nvJitLink", "__nvJitLink"};
constexpr std::string_view kNvshmemNames[] = {"nvshmem", "nvshmemi", "nvshmemx"};
constexpr std::string_view kNvtxNames[] = {"nvtx"};

/// Functions of these libraries are all of one kind, but for those whose names say that they give
/// something: a status is returned, and what they compute is in a GPU's memory.
constexpr std::string_view kEvery[] = {"*"};

const std::span<const Answer> kRuntime13[] = {runtime13_answers(), runtime_device_answers(),
                                              runtime_memory_answers(), runtime_stream_answers(),
                                              runtime_kernel_answers()};
const std::span<const Answer> kRuntime12[] = {runtime12_answers(), runtime_device_answers(),
                                              runtime_memory_answers(), runtime_stream_answers(),
                                              runtime_kernel_answers()};
const std::span<const Answer> kDriver[] = {driver_answers(), driver_memory_answers(),
                                           driver_module_answers()};
const std::span<const Answer> kCublas[] = {cublas_answers()};
const std::span<const Answer> kCublasLt[] = {cublaslt_answers()};
const std::span<const Answer> kCudnn[] = {cudnn_answers()};
const std::span<const Answer> kNccl[] = {nccl_answers()};
const std::span<const Answer> kNvml[] = {nvml_answers()};
const std::span<const Answer> kNvrtc[] = {nvrtc_answers()};
const std::span<const Answer> kMath[] = {math_answers()};

// Longer stems first where one begins with another.
const Library kLibraries[] = {
    {"libcudart.so.12", kRuntime12, runtime_silent(), kCudaNames, true},
    {"libcudart.so.", kRuntime13, runtime_silent(), kCudaNames, true},
    {"libcuda.so.", kDriver, driver_silent(), kDriverNames, false},
    {"libcublasLt.so.", kCublasLt, {}, kCublasLtNames, true},
    {"libcublas.so.", kCublas, kEvery, kCublasNames, true},
    {"libcudnn.so.", kCudnn, cudnn_silent(), kCudnnNames, true},
    {"libnccl.so.", kNccl, {}, kNcclNames, false},
    {"libnvidia-ml.so.", kNvml, {}, kNvmlNames, false},
    {"libnvrtc.so.", kNvrtc, {}, kNvrtcNames, true},
    {"libcufft.so.", kMath, kEvery, kCufftNames, true},
    {"libcurand.so.", kMath, kEvery, kCurandNames, true},
    {"libcusolver.so.", kMath, kEvery, kCusolverNames, true},
    {"libcusparseLt.so.", kMath, {}, kCusparseLtNames, false},
    {"libcusparse.so.", kMath, kEvery, kCusparseNames, true},
    {"libcufile.so.", {}, {}, kCufileNames, false},
    {"libcupti.so.", {}, kEvery, kCuptiNames, true},
    {"libnvJitLink.so.", {}, {}, kJitLinkNames, true},
    {"libnvshmem_host.so.", {}, {}, kNvshmemNames, false},
    {"libnvToolsExt.so.", {}, kEvery, kNvtxNames, true},
};

}  // namespace

const Library* library_of(std::string_view soname) {
  for (const Library& library : kLibraries) {
    if (soname.starts_with(library.stem)) return &library;
  }
  return nullptr;
}

}  // namespace vramfit::standin
