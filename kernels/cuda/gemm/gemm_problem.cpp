#include "kernels/cuda/gemm/gemm_problem.h"

#include <algorithm>

#include "kernels/cuda/base/element.h"
#include "kernels/cuda/base/error.h"
#include "kernels/cuda/gemm/gemm_key.h"

namespace vramfit {
namespace {

/// The column-major matrix that lies in memory: the transpose of the row-major one.
cublasLtMatrixLayout_t layout_of(const GemmMatrix& matrix, std::int64_t batch) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, gpu::library_type(matrix.format),
                                   static_cast<std::uint64_t>(matrix.columns),
                                   static_cast<std::uint64_t>(matrix.rows), matrix.step),
        "cublasLtMatrixLayoutCreate");
  if (batch == 1) return layout;
  const auto count = static_cast<std::int32_t>(batch);
  check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                         sizeof count),
        "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT");
  check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                         &matrix.batch_step, sizeof matrix.batch_step),
        "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET");
  return layout;
}

template <typename Value>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
         const Value& value) {
  check(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value),
        "cublasLtMatmulDescSetAttribute");
}

class Preference {
 public:
  Preference() { check(cublasLtMatmulPreferenceCreate(&preference_), "cublasLt preference"); }
  ~Preference() { cublasLtMatmulPreferenceDestroy(preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;

  template <typename Value>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
    check(cublasLtMatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
  }
  cublasLtMatmulPreference_t get() const { return preference_; }

 private:
  cublasLtMatmulPreference_t preference_ = nullptr;
};

}  // namespace

GemmProblem::GemmProblem(const Gemm& gemm, bool tf32) {
  const bool fast = tf32 && gemm.a.format == DType::Fp32;
  a_ = layout_of(gemm.a, gemm.batch);
  b_ = layout_of(gemm.b, gemm.batch);
  to_ = layout_of(gemm.to, gemm.batch);
  check(cublasLtMatmulDescCreate(
            &operation_, fast ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  set(operation_, CUBLASLT_MATMUL_DESC_TRANSA, gemm.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation_, CUBLASLT_MATMUL_DESC_TRANSB, gemm.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (gemm.scales == GemmScales::Rows) {
    set(operation_, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
    set(operation_, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
  }
  // Sums on Hopper's tensor cores keep 14 bits, unless they are added up outside now and then.
  if (gemm.fast) set(operation_, CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
  if (gemm.bias != nullptr) {
    set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(operation_, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, gpu::library_type(gemm.to.format));
  }
  set_pointers(gemm);
}

GemmProblem::~GemmProblem() {
  for (const auto layout : {a_, b_, to_}) {
    if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
  }
  if (operation_ != nullptr) cublasLtMatmulDescDestroy(operation_);
}

void GemmProblem::set_pointers(const Gemm& gemm) {
  const auto renew = [this](auto& known, auto* pointer, cublasLtMatmulDescAttributes_t attribute) {
    if (known == pointer) return;
    set(operation_, attribute, pointer);
    known = pointer;
  };
  renew(bias_, gemm.bias, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  // The transpose is what is computed: b comes first.
  renew(b_scales_, gemm.b_scales, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
  renew(a_scales_, gemm.a_scales, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
}

int GemmProblem::candidates(cublasLtHandle_t handle, const Gemm& gemm,
                            std::uint64_t workspace_bytes, cublasLtMatmulHeuristicResult_t* results,
                            int count) {
  Preference preference;
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
  // Split sums meet in fp32 in the workspace, never in the 16 bits of what is written.
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                 static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  const void* plus = gemm.plus == nullptr ? gemm.to.data : gemm.plus;
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(gemm.b.data));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(gemm.a.data));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(plus));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(gemm.to.data));
  set_pointers(gemm);
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle, operation_, b_, a_, to_, to_, preference.get(), count, results, &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return 0;
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  const auto* end = std::remove_if(results, results + found, [](const auto& result) {
    return result.state != CUBLAS_STATUS_SUCCESS;
  });
  return static_cast<int>(end - results);
}

bool GemmProblem::accepts(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm,
                          std::uint64_t workspace_bytes) const {
  cublasLtMatmulHeuristicResult_t result{};
  return cublasLtMatmulAlgoCheck(handle, operation_, b_, a_, to_, to_, &algorithm, &result) ==
             CUBLAS_STATUS_SUCCESS &&
         result.workspaceSize <= workspace_bytes;
}

cublasStatus_t GemmProblem::run(cublasLtHandle_t handle, const Gemm& gemm,
                                const cublasLtMatmulAlgo_t& algorithm, const Tensor& workspace,
                                cudaStream_t stream) {
  set_pointers(gemm);
  const float plus_factor = gemm.plus == nullptr ? 0.0F : 1.0F;
  const void* plus = gemm.plus == nullptr ? gemm.to.data : gemm.plus;
  return cublasLtMatmul(handle, operation_, &gemm.scale, gemm.b.data, b_, gemm.a.data, a_,
                        &plus_factor, plus, to_, gemm.to.data, to_, &algorithm, workspace.data(),
                        workspace.bytes(), stream);
}

}  // namespace vramfit
