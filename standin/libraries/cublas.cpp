#include <cstring>

#include "standin/libraries/cuda.h"
#include "standin/libraries/loads.h"
#include "standin/libraries/tables.h"
#include "standin/machine.h"

// cuBLAS and cuBLASLt: handles, and algorithms that need no workspace. PyTorch gives a handle its
// workspace itself, out of its own allocator.
namespace vramfit::standin {
namespace {

constexpr Result kInvalidValueOfBlas = 7;

struct Handle {
  void* stream = nullptr;
  int pointer_mode = 0;
  int math_mode = 0;
};

Result create(Handle** handle) {
  const Locked machine;
  load_blas(*machine, machine->active());
  *handle = new Handle;
  return kSuccess;
}
Result destroy(Handle* handle) {
  delete handle;
  return kSuccess;
}
Result set_stream(Handle* handle, void* stream) {
  handle->stream = stream;
  return kSuccess;
}
Result get_stream(Handle* handle, void** stream) {
  *stream = handle->stream;
  return kSuccess;
}
Result set_pointer_mode(Handle* handle, int mode) {
  handle->pointer_mode = mode;
  return kSuccess;
}
Result get_pointer_mode(Handle* handle, int* mode) {
  *mode = handle->pointer_mode;
  return kSuccess;
}
Result set_math_mode(Handle* handle, int mode) {
  handle->math_mode = mode;
  return kSuccess;
}
Result get_math_mode(Handle* handle, int* mode) {
  *mode = handle->math_mode;
  return kSuccess;
}
/// Whatever is multiplied is one kernel. From Hopper on its arguments hold descriptors of tensors:
/// on an H100, 512 graphs of 64 bf16 products of PyTorch's took 1,152 bytes a kernel more than
/// additions, where GraphMemory's next size is 1,024 more.
Result multiply_in(void* stream) {
  constexpr std::uint64_t kWithDescriptors = 2048;
  const Locked machine;
  const std::uint64_t arguments = machine->facts.major() >= 9 ? kWithDescriptors : 0;
  machine->streams.work(machine->streams.of(stream), arguments);
  return kSuccess;
}
Result multiply(Handle* handle) { return multiply_in(handle->stream); }
Result get_version(Handle* /*handle*/, int* version) {
  *version = 130100;
  return kSuccess;
}
/// Major, minor, patch.
Result get_property(int which, int* value) {
  *value = which == 0 ? 13 : which == 1 ? 1 : 0;
  return kSuccess;
}
/// Of a batch: its arguments were right.
Result factorize_batch(Handle*, int, int, void*, int, void*, int* info, int /*batch*/) {
  *info = 0;
  return kSuccess;
}
Result solve_least_squares(Handle*, int, int, int, int, void*, int, void*, int, int* info, void*,
                           int /*batch*/) {
  *info = 0;
  return kSuccess;
}
const char* status_string(Result) { return "cuBLAS, stood in for by vramfit"; }

std::size_t lt_version() { return 130100; }
Result lt_create(Handle** handle) {
  *handle = new Handle;
  return kSuccess;
}
/// A descriptor that nobody looks into. Kinds differ in how many settings they are made with.
Result lt_give(void** descriptor) {
  *descriptor = new char;
  return kSuccess;
}
Result lt_take(void* descriptor) {
  delete static_cast<char*>(descriptor);
  return kSuccess;
}
/// cublasLtMatmulHeuristicResult_t.
struct Heuristic {
  std::uint64_t algorithm[8];
  std::size_t workspace;
  Result state;
  float waves;
  int reserved[4];
};
Result lt_heuristic(void* /*handle*/, void*, void*, void*, void*, void*, void* /*preference*/,
                    int wanted, Heuristic* results, int* found) {
  if (wanted < 1) return kInvalidValueOfBlas;
  *results = {};
  *found = 1;
  return kSuccess;
}
Result lt_multiply(void* /*handle*/, void* /*product*/, void* /*alpha*/, void* /*a*/, void*, void*,
                   void*, void* /*beta*/, void* /*c*/, void*, void*, void*, void* /*algorithm*/,
                   void* /*workspace*/, std::size_t /*bytes*/, void* stream) {
  return multiply_in(stream);
}
Result lt_success() { return kSuccess; }

}  // namespace

std::span<const Answer> cublas_answers() {
  static const Answer answers[] = {
      answer("cublasCreate_v2", create),
      answer("cublasDestroy_v2", destroy),
      answer("cublasSetStream_v2", set_stream),
      answer("cublasGetStream_v2", get_stream),
      answer("cublasSetPointerMode_v2", set_pointer_mode),
      answer("cublasGetPointerMode_v2", get_pointer_mode),
      answer("cublasSetMathMode", set_math_mode),
      answer("cublasGetMathMode", get_math_mode),
      answer("cublasGetVersion_v2", get_version),
      answer("cublasGetProperty", get_property),
      answer("cublasGemmEx", multiply),
      answer("cublasGemmBatchedEx", multiply),
      answer("cublasGemmStridedBatchedEx", multiply),
      answer("cublasSgemm_v2", multiply),
      answer("cublasSgemmStridedBatched", multiply),
      answer("cublasDgemm_v2", multiply),
      answer("cublasDgemmStridedBatched", multiply),
      answer("cublasSgemv_v2", multiply),
      answer("cublasDgemv_v2", multiply),
      answer("cublasSgeqrfBatched", factorize_batch),
      answer("cublasSgelsBatched", solve_least_squares),
      answer("cublasDgeqrfBatched", factorize_batch),
      answer("cublasDgelsBatched", solve_least_squares),
      answer("cublasCgeqrfBatched", factorize_batch),
      answer("cublasCgelsBatched", solve_least_squares),
      answer("cublasZgeqrfBatched", factorize_batch),
      answer("cublasZgelsBatched", solve_least_squares),
      answer("cublasGetStatusString", status_string),
      answer("cublasGetStatusName", status_string),
  };
  return answers;
}

std::span<const Answer> cublaslt_answers() {
  static const Answer answers[] = {
      answer("cublasLtCreate", lt_create),
      answer("cublasLtDestroy", destroy),
      answer("cublasLtGetVersion", lt_version),
      answer("cublasLtMatmulDescCreate", lt_give),
      answer("cublasLtMatmulDescDestroy", lt_take),
      answer("cublasLtMatmulPreferenceCreate", lt_give),
      answer("cublasLtMatmulPreferenceDestroy", lt_take),
      answer("cublasLtMatrixLayoutCreate", lt_give),
      answer("cublasLtMatrixLayoutDestroy", lt_take),
      answer("cublasLtMatrixTransformDescCreate", lt_give),
      answer("cublasLtMatrixTransformDescDestroy", lt_take),
      answer("cublasLtMatmulAlgoGetHeuristic", lt_heuristic),
      answer("cublasLtMatmul", lt_multiply),
      answer("cublasLtMatrixTransform", lt_success),
      answer("cublasLtMatmulDescSetAttribute", lt_success),
      answer("cublasLtMatrixLayoutSetAttribute", lt_success),
      answer("cublasLtMatmulPreferenceSetAttribute", lt_success),
      answer("cublasLtMatrixTransformDescSetAttribute", lt_success),
  };
  return answers;
}

}  // namespace vramfit::standin
